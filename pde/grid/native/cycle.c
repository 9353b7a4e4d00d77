/* The V-cycle (W on levels that are visited twice). */

/* Banded Cholesky factor of the coarsest matrix, symmetrically scaled; column j of L lies in factor[j * (band + 1) ...]. */
typedef struct {
    long n, band;
    const float *factor, *scale;
    const int32_t *index;   /* position of unknown j in the level's vectors */
    float *work;            /* n + band + 2 VL per column */
    long apart;             /* from one column to the next in `work` */
} Coarsest;

/* Fewer multiplications are not worth a second thread. */
#define COARSEST_GRAIN 500000

/* The factor is read once for all columns of a thread. */
static void solve_coarsest(const Level *L, const Coarsest *C, const Columns *columns)
{
    const long n = C->n, band = C->band, N = plane_of(L) * (L->layers + 1);
    const long useful = columns->count * n * band / COARSEST_GRAIN;
    #pragma omp parallel num_threads(useful < 1 ? 1 : useful < L->threads ? useful : L->threads)
    {
        const long t = omp_get_thread_num(), nt = omp_get_num_threads();
        const long c0 = first_of(columns->count, t, nt), c1 = first_of(columns->count, t + 1, nt);
        for (long c = c0; c < c1; c++) {
            const float *b = L->b + columns->which[c] * L->apart;
            float *x = C->work + columns->which[c] * C->apart;
            for (long j = 0; j < n; j++) x[j] = b[C->index[j]] * C->scale[j];
            for (long j = n; j < n + band; j++) x[j] = 0;
        }
        for (long j = 0; j < n; j++) {
            const float *restrict col = C->factor + j * (band + 1);
            for (long c = c0; c < c1; c++) {
                float *restrict rest = C->work + columns->which[c] * C->apart + j;
                const float v = rest[0] * col[0];   /* col[0] holds 1 / L_jj */
                rest[0] = v;
                #pragma omp simd
                for (long i = 1; i <= band; i++) rest[i] -= col[i] * v;
            }
        }
        for (long j = n - 1; j >= 0; j--) {
            const float *restrict col = C->factor + j * (band + 1);
            for (long c = c0; c < c1; c++) {
                float *restrict rest = C->work + columns->which[c] * C->apart + j;
                float sum = 0;
                #pragma omp simd reduction(+ : sum)
                for (long i = 1; i <= band; i++) sum += col[i] * rest[i];
                rest[0] = (rest[0] - sum) * col[0];
            }
        }
        for (long c = c0; c < c1; c++) {
            const float *x = C->work + columns->which[c] * C->apart;
            float *z = L->z + columns->which[c] * L->apart;
            memset(z, 0, N * sizeof(float));
            for (long j = 0; j < n; j++) z[C->index[j]] = x[j] * C->scale[j];
        }
    }
}

/* z = d = D^-1 b / theta: the first Chebyshev step from zero needs no operator. */
static void first_step(const Level *L, const Columns *C)
{
    const long N = plane_of(L), Q = N / DOFS;
    #pragma omp parallel for collapse(2) schedule(static) num_threads(team_of(L, C->count))
    for (long column = 0; column < C->count; column++)
    for (long k = 0; k <= L->layers; k++)
        for (long c = 0; c < DOFS; c++) {
            const long at = C->which[column] * L->apart + k * N + c * Q;
            const float *restrict w = L->kind == 0 ? L->dinv + k * Q : L->dinv + k * N + c * Q;
            const float a = (L->kind == 0 ? L->weight[c] : 1.0f) / (float)L->theta;
            const float *restrict b = L->b + at;
            float *restrict z = L->z + at, *restrict d = L->d + at;
            #pragma omp simd
            for (long i = 0; i < Q; i++) z[i] = d[i] = a * w[i] * b[i];
        }
}

static void smooth(const Level *L, const Scratch *S, const Columns *C, int from_zero, double *partial)
{
    const double sigma = L->theta / L->delta;
    double rho = 1 / sigma;
    if (from_zero) first_step(L, C);
    else operate(L, S, C, CHEBYSHEV, 0, 1 / L->theta, 0, L->degree == 1 ? partial : 0);
    for (long step = 1; step < L->degree; step++) {
        const double next = 1 / (2 * sigma - rho);
        operate(L, S, C, CHEBYSHEV, next * rho, 2 * next / L->delta, 0, step + 1 == L->degree ? partial : 0);
        rho = next;
    }
}

static void cycle(const Level *L, long depth, const Coarsest *last, const Scratch *S, const Columns *C, int from_zero,
                  double *partial)
{
    if (depth == 0) {
        const long planes = L->layers + 1;
        solve_coarsest(L, last, C);
        for (long c = 0; partial && c < C->count; c++)
            for (long k = 0; k < planes; k++)
                partial[C->which[c] * planes + k] = dot_plane(L, C->which[c] * L->apart + k * plane_of(L));
        return;
    }
    smooth(L, S, C, from_zero, 0);
    operate(L, S, C, RESIDUAL, 0, 0, 0, 0);
    restrict_residual(L, L + 1, S, C);
    const long visits = depth > 1 ? L[1].visits : 1;
    for (long visit = 0; visit < visits; visit++) cycle(L + 1, depth - 1, last, S, C, visit == 0, 0);
    prolong_correction(L, L + 1, S, C);
    smooth(L, S, C, 0, partial);
}

/* z of level 0 = V(b of level 0) in every column; partial[column, plane] = b.z */
void multigrid_cycle(const Level *levels, long count, const Coarsest *last, const Scratch *S, const Columns *C,
                     double *partial)
{
    cycle(levels, count - 1, last, S, C, 1, partial);
}
