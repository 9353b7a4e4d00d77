/* ---------------------------------------------------------------------------------------------------------------
   Applying the operator. Each thread owns a range of node planes and keeps two planes of forces: as soon as plane k is
   complete it is consumed. The layer below the range is computed by both neighbours, so nothing is shared and the
   result does not depend on the number of threads.
   --------------------------------------------------------------------------------------------------------------- */

enum { STORE, RESIDUAL, CHEBYSHEV };

typedef void (*layer_f_t)(const Level *, const float *, const float *, const float *, const float *, float *, float *, vf *);
static const layer_f_t layers_f[3] = {layer_fine_f, layer_hadamard_f, layer_stored_f};

#define PLANE_BYTES(L, T) (((plane_of(L) + 4 * VL) * (long)sizeof(T) + 63) / 64 * 64)

static void hold(const Level *L, long k, float *f)
{
    for (int64_t n = L->fixed_start[k]; n < L->fixed_start[k + 1]; n++) f[L->fixed[n]] = 0;
}

/* With numbers behind it: the last vectors of a plane look past its end and multiply what they find by zero. */
static const float *copy_plane(float *to, const float *from, long n)
{
    memcpy(to, from, n * sizeof(float));
    memset(to + n, 0, 2 * VL * sizeof(float));
    return to;
}

static double dot_plane(const Level *L, long k)
{
    const long N = plane_of(L);
    const float *restrict b = L->b + k * N, *restrict z = L->z + k * N;
    double sum = 0;
    #pragma omp simd reduction(+ : sum)
    for (long i = 0; i < N; i++) sum += (double)b[i] * z[i];
    return sum;
}

static void chebyshev_plane(const Level *L, long k, const float *restrict f, float c1, float c2)
{
    const long N = plane_of(L), Q = N / DOFS;
    const float *restrict b = L->b + k * N;
    float *restrict z = L->z + k * N, *restrict d = L->d + k * N;
    for (long c = 0; c < DOFS; c++) {
        const float *restrict w = L->kind == 0 ? L->dinv + k * Q : L->dinv + k * N + c * Q;
        const float a = L->kind == 0 ? c2 * L->weight[c] : c2;
        const long o = c * Q;
        #pragma omp simd
        for (long i = 0; i < Q; i++) {
            const float step = c1 * d[o + i] + a * w[i] * (b[o + i] - f[o + i]);
            d[o + i] = step;
            z[o + i] += step;
        }
    }
}

static void residual_plane(const Level *L, long k, const float *restrict f)
{
    const long N = plane_of(L);
    const float *restrict b = L->b + k * N;
    float *restrict d = L->d + k * N;
    #pragma omp simd
    for (long i = 0; i < N; i++) d[i] = b[i] - f[i];
}

/* RESIDUAL: d = b - K z.  CHEBYSHEV: d = c1 d + c2 D^-1 (b - K z), z += d, in place, and partial[plane] = b.z if asked.
   STORE: out = K z. */
static void operate(const Level *L, const Scratch *S, int what, float c1, float c2, float *out, double *partial)
{
    const long N = plane_of(L), planes = L->layers + 1, bytes = PLANE_BYTES(L, float);
    const layer_f_t layer = layers_f[L->kind];
    #pragma omp parallel num_threads(L->threads)
    {
        const long t = omp_get_thread_num(), nt = omp_get_num_threads();
        const long k0 = first_of(planes, t, nt), k1 = first_of(planes, t + 1, nt);
        char *memory = S->memory + t * S->stride;
        float *f0 = (float *)memory, *f1 = (float *)(memory + bytes);
        float *below = (float *)(memory + 2 * bytes), *above = (float *)(memory + 3 * bytes);
        vf *buffer = (vf *)(memory + 4 * bytes);
        const float *u_below = L->z + (k0 - 1) * N, *u_above = L->z + k1 * N;
        if (what == CHEBYSHEV) {
            /* The neighbours' planes change while this thread still needs them. */
            if (k0 > 0 && k0 < k1) u_below = copy_plane(below, u_below, N);
            if (k1 < planes && k0 < k1) u_above = copy_plane(above, u_above, N);
            #pragma omp barrier
        }
        if (k0 < k1) {
            if (k0 == 0) memset(f0, 0, N * sizeof(float));
            else layer(L, u_below, L->z + k0 * N, L->coef + (k0 - 1) * L->coef_layer, L->constants, f1, f0, buffer);
        }
        for (long k = k0; k < k1; k++) {
            if (k < L->layers)
                layer(L, L->z + k * N, k + 1 < k1 ? L->z + (k + 1) * N : u_above, L->coef + k * L->coef_layer,
                      L->constants, f0, f1, buffer);
            hold(L, k, f0);
            if (what == CHEBYSHEV) {
                chebyshev_plane(L, k, f0, c1, c2);
                if (partial) partial[k] = dot_plane(L, k);
            } else if (what == RESIDUAL) residual_plane(L, k, f0);
            else memcpy(out + k * N, f0, N * sizeof(float));
            float *swap = f0; f0 = f1; f1 = swap;
        }
    }
}

void apply_f(const Level *L, const Scratch *S, float *out) { operate(L, S, STORE, 0, 0, out, 0); }

/* out = K u, or b - K u when b is given; `held`: zero at the fixed values. partial[plane] = u.out, or |out|^2 with b. */
void apply_d(const Level *L, const Scratch *S, const double *modulus, const double *constants, const double *u,
             const double *b, double *out, double *partial, long held)
{
    const long N = plane_of(L), planes = L->layers + 1, bytes = PLANE_BYTES(L, double);
    #pragma omp parallel num_threads(L->threads)
    {
        const long t = omp_get_thread_num(), nt = omp_get_num_threads();
        const long k0 = first_of(planes, t, nt), k1 = first_of(planes, t + 1, nt);
        char *memory = S->memory + t * S->stride;
        double *f0 = (double *)memory, *f1 = (double *)(memory + bytes);
        vd *buffer = (vd *)(memory + 2 * bytes);
        if (k0 < k1) {
            if (k0 == 0) memset(f0, 0, N * sizeof(double));
            else layer_fine_d(L, u + (k0 - 1) * N, u + k0 * N, modulus + (k0 - 1) * L->coef_layer, constants, f1, f0, buffer);
        }
        for (long k = k0; k < k1; k++) {
            if (k < L->layers)
                layer_fine_d(L, u + k * N, u + (k + 1) * N, modulus + k * L->coef_layer, constants, f0, f1, buffer);
            if (held)
                for (int64_t n = L->fixed_start[k]; n < L->fixed_start[k + 1]; n++) f0[L->fixed[n]] = 0;
            double sum = 0;
            const double *restrict f = f0, *restrict v = u + k * N;
            double *restrict o = out + k * N;
            if (b) {
                const double *restrict g = b + k * N;
                #pragma omp simd reduction(+ : sum)
                for (long i = 0; i < N; i++) { o[i] = g[i] - f[i]; sum += o[i] * o[i]; }
            } else {
                #pragma omp simd reduction(+ : sum)
                for (long i = 0; i < N; i++) { o[i] = f[i]; sum += v[i] * f[i]; }
            }
            partial[k] = sum;
            double *swap = f0; f0 = f1; f1 = swap;
        }
    }
}

void energies_d(const Level *L, const Scratch *S, const double *constants, const double *u, double *out)
{
    const long N = plane_of(L);
    #pragma omp parallel num_threads(L->threads)
    {
        vd *buffer = (vd *)(S->memory + omp_get_thread_num() * S->stride);
        #pragma omp for schedule(static)
        for (long k = 0; k < L->layers; k++)
            energy_d(L, u + k * N, u + (k + 1) * N, constants, out + k * L->ny * L->nx, buffer);
    }
}

/* ---------------------------------------------------------------------------------------------------------------
   Between levels: full weighting, its transpose, coefficients, diagonals.
   --------------------------------------------------------------------------------------------------------------- */

/* b of the coarse level = P^T d of the fine one. */
static void restrict_residual(const Level *F, const Level *C, const Scratch *S)
{
    const long X = F->nx + 1, R = rows_of(F), Q = R * X, N = DOFS * Q;
    const long Xc = C->nx + 1, Rc = rows_of(C), Qc = Rc * Xc, Nc = DOFS * Qc;
    #pragma omp parallel num_threads(F->threads)
    {
        float *sum = (float *)(S->memory + omp_get_thread_num() * S->stride);
        #pragma omp for schedule(static)
        for (long K = 0; K <= C->layers; K++) {
            for (long c = 0; c < DOFS; c++) {
                const float *mid = F->d + 2 * K * N + c * Q;
                const float *low = K > 0 ? mid - N : 0, *high = K < C->layers ? mid + N : 0;
                for (long i = 0; i < Q; i++) sum[i] = mid[i];
                if (low) for (long i = 0; i < Q; i++) sum[i] += 0.5f * low[i];
                if (high) for (long i = 0; i < Q; i++) sum[i] += 0.5f * high[i];
                float *row = sum + Q + 2 * VL;
                row[-1] = 0;
                for (long J = 0; J < Rc; J++) {
                    float *restrict out = C->b + K * Nc + c * Qc + J * Xc;
                    const float *s = sum + 2 * J * X;
                    for (long i = 0; i < X; i++) row[i] = s[i];
                    if (DIM == 3 && J > 0) for (long i = 0; i < X; i++) row[i] += 0.5f * s[i - X];
                    if (DIM == 3 && J < Rc - 1) for (long i = 0; i < X; i++) row[i] += 0.5f * s[i + X];
                    row[X] = 0;
                    for (long I = 0; I < Xc; I++) out[I] = row[2 * I] + 0.5f * (row[2 * I - 1] + row[2 * I + 1]);
                }
            }
            hold(C, K, C->b + K * Nc);
        }
    }
}

/* z of the fine level += P z of the coarse one. */
static void prolong_correction(const Level *F, const Level *C, const Scratch *S)
{
    const long X = F->nx + 1, R = rows_of(F), Q = R * X, N = DOFS * Q;
    const long Xc = C->nx + 1, Rc = rows_of(C), Qc = Rc * Xc, Nc = DOFS * Qc;
    #pragma omp parallel num_threads(F->threads)
    {
        float *row = (float *)(S->memory + omp_get_thread_num() * S->stride);
        #pragma omp for schedule(static)
        for (long k = 0; k <= F->layers; k++)
            for (long c = 0; c < DOFS; c++)
                for (long j = 0; j < R; j++) {
                    const float *a = C->z + (k / 2) * Nc + c * Qc + (j / 2) * Xc;
                    const long up = (k & 1) ? Nc : 0, side = (j & 1) ? Xc : 0;
                    if (up && side) for (long i = 0; i < Xc; i++) row[i] = 0.25f * (a[i] + a[i + up] + a[i + side] + a[i + up + side]);
                    else if (up || side) for (long i = 0; i < Xc; i++) row[i] = 0.5f * (a[i] + a[i + up + side]);
                    else for (long i = 0; i < Xc; i++) row[i] = a[i];
                    float *out = F->z + k * N + c * Q + j * X;
                    long I = 0;
                    for (; I + VL < Xc; I += VL) {
                        const vf here = load_f(row + I), half = 0.5f * (here + load_f(row + I + 1));
                        store_f(out + 2 * I, load_f(out + 2 * I) + INTERLEAVE_LOW(here, half));
                        store_f(out + 2 * I + VL, load_f(out + 2 * I + VL) + INTERLEAVE_HIGH(here, half));
                    }
                    for (; I < Xc; I++) {
                        out[2 * I] += row[I];
                        if (I + 1 < Xc) out[2 * I + 1] += 0.5f * (row[I] + row[I + 1]);
                    }
                }
    }
}

/* Coefficients of one level from those of the level above: ny and layers are those of the coarse level. */


/* Vector `entry` of block b of an array [block][entries][lane]; blocks beyond the row are zero. */
INLINE vf block_of(const float *row, long b, long blocks, long entries, long entry)
{
    return load_f(b < blocks ? row + (b * entries + entry) * VL : zeros);
}

#define CHILDREN (1 << DIM)

/* Row of children number c (bit 1: y, bit 2: z; two dimensions: bit 1 is y, the layer) of coarse element row (k, j). */
INLINE long child_row(long c, long k, long j, long ny_fine)
{
    return DIM == 3 ? (2 * k + (c >> 2)) * ny_fine + 2 * j + ((c >> 1) & 1) : 2 * k + (c >> 1);
}

void hadamard_moduli(const Level *F, const Level *C, long stride)
{
    const long blocks = (C->nx + VL - 1) / VL;
    #pragma omp parallel for schedule(static) num_threads(F->threads)
    for (long k = 0; k < C->layers; k++)
        for (long j = 0; j < C->ny; j++)
            for (long b = 0; b < blocks; b++) {
                vf e[CHILDREN];
                for (long c = 0; c < CHILDREN; c += 2) {
                    const float *row = F->coef + child_row(c, k, j, F->ny) * stride + 2 * b * VL;
                    const vf low = load_f(row), high = load_f(row + VL);
                    e[c] = EVEN(low, high);
                    e[c + 1] = ODD(low, high);
                }
                hadamard(e);
                float *out = (float *)C->coef + ((k * C->ny + j) * blocks + b) * CHILDREN * VL;
                for (long p = 0; p < CHILDREN; p++) store_f(out + p * VL, e[p]);
            }
}

void galerkin_from_hadamard(const Level *F, const Level *C, const float *constants)
{
    const long blocks = (C->nx + VL - 1) / VL, fine = (F->nx + VL - 1) / VL;
    #pragma omp parallel for schedule(static) num_threads(F->threads)
    for (long k = 0; k < C->layers; k++)
        for (long j = 0; j < C->ny; j++)
            for (long b = 0; b < blocks; b++) {
                vf h[CHILDREN][CHILDREN];
                for (long p = 0; p < CHILDREN; p++) {
                    for (long c = 0; c < CHILDREN; c += 2) {
                        const float *row = F->coef + child_row(c, k, j, F->ny) * fine * CHILDREN * VL;
                        const vf low = block_of(row, 2 * b, fine, CHILDREN, p), high = block_of(row, 2 * b + 1, fine, CHILDREN, p);
                        h[p][c] = EVEN(low, high);
                        h[p][c + 1] = ODD(low, high);
                    }
                    hadamard(h[p]);
                }
                table_to_packed((const vf *)h, constants, (float *)C->coef + ((k * C->ny + j) * blocks + b) * PACKED * VL);
            }
}

void galerkin_from_packed(const Level *F, const Level *C)
{
    const long blocks = (C->nx + VL - 1) / VL, fine = (F->nx + VL - 1) / VL;
    #pragma omp parallel for schedule(static) num_threads(F->threads)
    for (long row_number = 0; row_number < C->layers * C->ny; row_number++) {
        const long k = row_number / C->ny, j = row_number % C->ny;
        vf A[ACTIVE][ACTIVE], sum[PACKED];
        for (long b = 0; b < blocks; b++) {
            for (long n = 0; n < PACKED; n++) sum[n] = load_f(zeros);
            for (long c = 0; c < CHILDREN; c++) {
                const float *row = F->coef + child_row(c, k, j, F->ny) * fine * PACKED * VL;
                for (long m = 0, n = 0; m < ACTIVE; m++)
                    for (long q = 0; q <= m; q++, n++) {
                        const vf low = block_of(row, 2 * b, fine, PACKED, n), high = block_of(row, 2 * b + 1, fine, PACKED, n);
                        A[m][q] = A[q][m] = (c & 1) ? ODD(low, high) : EVEN(low, high);
                    }
                /* A <- S_c^T A S_c, axis by axis: high = (high -/+ low) / 2, columns then rows. */
                for (long axis = 0; axis < DIM; axis++) {
                    const float sign = (c >> axis) & 1 ? 0.5f : -0.5f;
                    for (long m = 0; m < ACTIVE; m++) {
                        if (!(mode_bits[m] >> axis & 1)) continue;
                        const long low = lower_mode[axis][m];
                        for (long q = 0; q < ACTIVE; q++) A[q][m] = 0.5f * A[q][m] + (low < 0 ? load_f(zeros) : sign * A[q][low]);
                    }
                    for (long m = 0; m < ACTIVE; m++) {
                        if (!(mode_bits[m] >> axis & 1)) continue;
                        const long low = lower_mode[axis][m];
                        for (long q = 0; q < ACTIVE; q++) A[m][q] = 0.5f * A[m][q] + (low < 0 ? load_f(zeros) : sign * A[low][q]);
                    }
                }
                for (long m = 0, n = 0; m < ACTIVE; m++)
                    for (long q = 0; q <= m; q++, n++) sum[n] += A[m][q];
            }
            float *out = (float *)C->coef + (row_number * blocks + b) * PACKED * VL;
            for (long n = 0; n < PACKED; n++) store_f(out + n * VL, sum[n]);
        }
    }
}

/* D^-1 of levels 1 and deeper; zero where there is no stiffness. Even layers, then odd ones: no two threads share a plane. */
void inverse_diagonal(const Level *L)
{
    const long X = L->nx + 1, R = rows_of(L), Q = R * X, N = DOFS * Q, blocks = (L->nx + VL - 1) / VL;
    const long entries = L->kind == 1 ? CHILDREN : PACKED;
    memset(L->dinv, 0, (L->layers + 1) * N * sizeof(float));
    for (long colour = 0; colour < 2; colour++) {
        #pragma omp parallel for schedule(static) num_threads(L->threads)
        for (long k = colour; k < L->layers; k += 2)
            for (long j = 0; j < L->ny; j++) {
                if (DIM == 2 && j > 0) break;
                for (long b = 0; b < blocks; b++) {
                    const float *coef = L->coef + ((DIM == 3 ? k * L->ny + j : k) * blocks + b) * entries * VL;
                    vf diagonal[CHILDREN * DOFS];
                    if (L->kind == 1) diagonal_hadamard(coef, L->constants, diagonal);
                    else diagonal_stored(coef, diagonal);
                    const long i = b * VL;
                    for (long n = 0; n < CHILDREN; n++)
                        for (long c = 0; c < DOFS; c++) {
                            const long plane = k + (n >> (DIM - 1)), row = DIM == 3 ? j + ((n >> 1) & 1) : 0;
                            add_some_f(L->dinv + plane * N + c * Q + row * X + i + (n & 1), diagonal[n * DOFS + c], L->nx - i);
                        }
                }
            }
    }
    #pragma omp parallel for simd schedule(static) num_threads(L->threads)
    for (long i = 0; i < (L->layers + 1) * N; i++) L->dinv[i] = L->dinv[i] > 0 ? 1 / L->dinv[i] : 0;
}

/* Level 0: dinv = 1 / sum of the moduli around each node, zero where there is no material. */
void inverse_modulus_sum(const Level *L, long stride)
{
    const long X = L->nx + 1, R = rows_of(L), Q = R * X;
    #pragma omp parallel for schedule(static) num_threads(L->threads)
    for (long k = 0; k <= L->layers; k++)
        for (long j = 0; j < R; j++) {
            float *out = L->dinv + k * Q + j * X;
            for (long i = 0; i < X; i++) out[i] = 0;
            for (long n = 0; n < 1 << (DIM - 1); n++) {
                const long kk = k - 1 + (n & 1), jj = DIM == 3 ? j - 1 + (n >> 1) : 0;
                if (kk < 0 || kk >= L->layers || jj < 0 || jj >= (DIM == 3 ? L->ny : 1)) continue;
                const float *e = L->coef + kk * L->coef_layer + jj * stride;
                for (long i = 0; i < L->nx; i++) out[i] += e[i];
                for (long i = L->nx; i > 0; i--) out[i] += e[i - 1];
            }
            for (long i = 0; i < X; i++) out[i] = out[i] > 0 ? 1 / out[i] : 0;
        }
}

/* ---------------------------------------------------------------------------------------------------------------
   The V-cycle (W on levels that are visited twice).
   --------------------------------------------------------------------------------------------------------------- */

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

/* ---------------------------------------------------------------------------------------------------------------
   Vectors of the conjugate gradients: one pass each, sums per plane so that their order is always the same.
   --------------------------------------------------------------------------------------------------------------- */

/* p = z + beta p */
void direction(const Level *L, double *restrict p, double beta)
{
    const long N = plane_of(L);
    #pragma omp parallel for schedule(static) num_threads(L->threads)
    for (long k = 0; k <= L->layers; k++) {
        const float *restrict z = L->z;
        #pragma omp simd
        for (long i = k * N; i < (k + 1) * N; i++) p[i] = z[i] + beta * p[i];
    }
}

/* x += alpha p; r -= alpha q; b of level 0 = scale r in single precision; partial[k] = |r|^2 over plane k */
void advance(const Level *L, double *restrict x, double *restrict r, const double *restrict p, const double *restrict q,
             double alpha, double scale, double *partial)
{
    const long N = plane_of(L);
    #pragma omp parallel for schedule(static) num_threads(L->threads)
    for (long k = 0; k <= L->layers; k++) {
        float *restrict b = L->b;
        double sum = 0;
        #pragma omp simd reduction(+ : sum)
        for (long i = k * N; i < (k + 1) * N; i++) {
            x[i] += alpha * p[i];
            const double v = r[i] - alpha * q[i];
            r[i] = v;
            b[i] = (float)(scale * v);
            sum += v * v;
        }
        partial[k] = sum;
    }
}
