/* The V-cycle (W on levels that are visited twice). */

/* Banded Cholesky factor of the coarsest matrix, symmetrically scaled; column j of L lies in factor[j * (band + 1) ...]. */
typedef struct {
    long n, band;
    const float *factor, *scale;
    const int32_t *index;   /* position of unknown j in the level's vectors */
    float *work;            /* n + band + 2 VL */
} Coarsest;

static void solve_coarsest(const Level *L, const Coarsest *C)
{
    const long n = C->n, band = C->band, N = plane_of(L) * (L->layers + 1);
    float *x = C->work;
    for (long j = 0; j < n; j++) x[j] = L->b[C->index[j]] * C->scale[j];
    for (long j = n; j < n + band; j++) x[j] = 0;
    for (long j = 0; j < n; j++) {
        const float *restrict col = C->factor + j * (band + 1);
        float *restrict rest = x + j;
        const float v = rest[0] * col[0];   /* col[0] holds 1 / L_jj */
        rest[0] = v;
        #pragma omp simd
        for (long i = 1; i <= band; i++) rest[i] -= col[i] * v;
    }
    for (long j = n - 1; j >= 0; j--) {
        const float *restrict col = C->factor + j * (band + 1), *restrict rest = x + j;
        float sum = 0;
        #pragma omp simd reduction(+ : sum)
        for (long i = 1; i <= band; i++) sum += col[i] * rest[i];
        x[j] = (x[j] - sum) * col[0];
    }
    memset(L->z, 0, N * sizeof(float));
    for (long j = 0; j < n; j++) L->z[C->index[j]] = x[j] * C->scale[j];
}

/* z = d = D^-1 b / theta: the first Chebyshev step from zero needs no operator. */
static void first_step(const Level *L)
{
    const long N = plane_of(L), Q = N / DOFS;
    #pragma omp parallel for schedule(static) num_threads(L->threads)
    for (long k = 0; k <= L->layers; k++)
        for (long c = 0; c < DOFS; c++) {
            const float *restrict w = L->kind == 0 ? L->dinv + k * Q : L->dinv + k * N + c * Q;
            const float a = (L->kind == 0 ? L->weight[c] : 1.0f) / (float)L->theta;
            const float *restrict b = L->b + k * N + c * Q;
            float *restrict z = L->z + k * N + c * Q, *restrict d = L->d + k * N + c * Q;
            #pragma omp simd
            for (long i = 0; i < Q; i++) z[i] = d[i] = a * w[i] * b[i];
        }
}

static void smooth(const Level *L, const Scratch *S, int from_zero, double *partial)
{
    const double sigma = L->theta / L->delta;
    double rho = 1 / sigma;
    if (from_zero) first_step(L);
    else operate(L, S, CHEBYSHEV, 0, 1 / L->theta, 0, L->degree == 1 ? partial : 0);
    for (long step = 1; step < L->degree; step++) {
        const double next = 1 / (2 * sigma - rho);
        operate(L, S, CHEBYSHEV, next * rho, 2 * next / L->delta, 0, step + 1 == L->degree ? partial : 0);
        rho = next;
    }
}

static void cycle(const Level *L, long depth, const Coarsest *C, const Scratch *S, int from_zero, double *partial)
{
    if (depth == 0) {
        solve_coarsest(L, C);
        if (partial) for (long k = 0; k <= L->layers; k++) partial[k] = dot_plane(L, k);
        return;
    }
    smooth(L, S, from_zero, 0);
    operate(L, S, RESIDUAL, 0, 0, 0, 0);
    restrict_residual(L, L + 1, S);
    const long visits = depth > 1 ? L[1].visits : 1;
    for (long visit = 0; visit < visits; visit++) cycle(L + 1, depth - 1, C, S, visit == 0, 0);
    prolong_correction(L, L + 1, S);
    smooth(L, S, 0, partial);
}

/* z of level 0 = V(b of level 0); partial[plane] = b.z */
void multigrid_cycle(const Level *levels, long count, const Coarsest *C, const Scratch *S, double *partial)
{
    cycle(levels, count - 1, C, S, 1, partial);
}
