/* Applying the operator. Each thread owns a range of node planes and keeps two planes of forces: as soon as plane k is
   complete it is consumed. The layer below the range is computed by both neighbours, so nothing is shared and the
   result does not depend on the number of threads. */

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

/* `at`: where the plane of the column begins. */
static double dot_plane(const Level *L, long at)
{
    const long N = plane_of(L);
    const float *restrict b = L->b + at, *restrict z = L->z + at;
    double sum = 0;
    #pragma omp simd reduction(+ : sum)
    for (long i = 0; i < N; i++) sum += (double)b[i] * z[i];
    return sum;
}

static void chebyshev_plane(const Level *L, long k, long at, const float *restrict f, float c1, float c2)
{
    const long N = plane_of(L), Q = N / DOFS;
    const float *restrict b = L->b + at;
    float *restrict z = L->z + at, *restrict d = L->d + at;
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

static void residual_plane(const Level *L, long at, const float *restrict f)
{
    const long N = plane_of(L);
    const float *restrict b = L->b + at;
    float *restrict d = L->d + at;
    #pragma omp simd
    for (long i = 0; i < N; i++) d[i] = b[i] - f[i];
}

/* RESIDUAL: d = b - K z.  CHEBYSHEV: d = c1 d + c2 D^-1 (b - K z), z += d, in place, and partial[column, plane] = b.z if
   asked.  STORE: out = K z. Packed matrices are read once for all columns; the other coefficients are few, and there
   the planes of one column after the other stay closer together. */
static void operate(const Level *L, const Scratch *S, const Columns *C, int what, float c1, float c2, float *out,
                    double *partial)
{
    const long N = plane_of(L), planes = L->layers + 1, size = PLANE_BYTES(L, float) / (long)sizeof(float);
    const long together = L->kind == 2 ? C->count : 1;
    const layer_f_t layer = layers_f[L->kind];
    #pragma omp parallel num_threads(team_of(L, C->count))
    {
        const long t = omp_get_thread_num(), nt = omp_get_num_threads();
        const long k0 = first_of(planes, t, nt), k1 = first_of(planes, t + 1, nt), none = k0 == k1;
        float *forces = (float *)(S->memory + t * S->stride), *copies = forces + 2 * together * size;
        vf *buffer = (vf *)(copies + 2 * C->count * size);
        if (what == CHEBYSHEV) {
            /* The neighbours' planes change while this thread still needs them. */
            for (long c = 0; c < C->count && !none; c++) {
                const float *z = L->z + C->which[c] * L->apart;
                if (k0 > 0) copy_plane(copies + 2 * c * size, z + (k0 - 1) * N, N);
                if (k1 < planes) copy_plane(copies + (2 * c + 1) * size, z + k1 * N, N);
            }
            #pragma omp barrier
        }
        for (long first = 0; first < C->count && !none; first += together) {
            for (long c = first; c < first + together; c++) {
                const float *z = L->z + C->which[c] * L->apart, *below = copies + 2 * c * size;
                float *f0 = forces + 2 * (c - first) * size, *f1 = f0 + size;
                if (k0 == 0) memset(f0, 0, N * sizeof(float));
                else layer(L, what == CHEBYSHEV ? below : z + (k0 - 1) * N, z + k0 * N, L->coef + (k0 - 1) * L->coef_layer,
                           L->constants, f1, f0, buffer);
            }
            for (long k = k0; k < k1; k++)
                for (long c = first; c < first + together; c++) {
                    const long at = C->which[c] * L->apart + k * N;
                    float *pair = forces + 2 * (c - first) * size;
                    float *f0 = pair + ((k - k0) & 1) * size, *f1 = pair + (1 - ((k - k0) & 1)) * size;
                    const float *above = what == CHEBYSHEV && k + 1 == k1 ? copies + (2 * c + 1) * size : L->z + at + N;
                    if (k < L->layers)
                        layer(L, L->z + at, above, L->coef + k * L->coef_layer, L->constants, f0, f1, buffer);
                    hold(L, k, f0);
                    if (what == CHEBYSHEV) {
                        chebyshev_plane(L, k, at, f0, c1, c2);
                        if (partial) partial[C->which[c] * planes + k] = dot_plane(L, at);
                    } else if (what == RESIDUAL) residual_plane(L, at, f0);
                    else memcpy(out + at, f0, N * sizeof(float));
                }
        }
    }
}

void apply_f(const Level *L, const Scratch *S, float *out) { operate(L, S, &one_column, STORE, 0, 0, out, 0); }

/* out = K u, or b - K u when b is given; `held`: zero at the fixed values. partial[column, plane] = u.out, or |out|^2
   with b. */
void apply_d(const Level *L, const Scratch *S, const Columns *C, const double *modulus, const double *constants,
             const double *u, const double *b, double *out, double *partial, long held)
{
    const long N = plane_of(L), planes = L->layers + 1, bytes = PLANE_BYTES(L, double);
    #pragma omp parallel num_threads(team_of(L, C->count))
    {
        const long t = omp_get_thread_num(), nt = omp_get_num_threads();
        const long k0 = first_of(planes, t, nt), k1 = first_of(planes, t + 1, nt);
        char *memory = S->memory + t * S->stride;
        double *f0 = (double *)memory, *f1 = (double *)(memory + bytes);
        vd *buffer = (vd *)(memory + 2 * bytes);
        for (long c = 0; c < C->count && k0 < k1; c++) {
            const long column = C->which[c] * L->apart;
            const double *w = u + column;
            if (k0 == 0) memset(f0, 0, N * sizeof(double));
            else layer_fine_d(L, w + (k0 - 1) * N, w + k0 * N, modulus + (k0 - 1) * L->coef_layer, constants, f1, f0, buffer);
            for (long k = k0; k < k1; k++) {
                if (k < L->layers)
                    layer_fine_d(L, w + k * N, w + (k + 1) * N, modulus + k * L->coef_layer, constants, f0, f1, buffer);
                if (held)
                    for (int64_t n = L->fixed_start[k]; n < L->fixed_start[k + 1]; n++) f0[L->fixed[n]] = 0;
                double sum = 0;
                const double *restrict f = f0, *restrict v = w + k * N;
                double *restrict o = out + column + k * N;
                if (b) {
                    const double *restrict g = b + column + k * N;
                    #pragma omp simd reduction(+ : sum)
                    for (long i = 0; i < N; i++) { o[i] = g[i] - f[i]; sum += o[i] * o[i]; }
                } else {
                    #pragma omp simd reduction(+ : sum)
                    for (long i = 0; i < N; i++) { o[i] = f[i]; sum += v[i] * f[i]; }
                }
                partial[C->which[c] * planes + k] = sum;
                double *swap = f0; f0 = f1; f1 = swap;
            }
        }
    }
}

void energies_d(const Level *L, const Scratch *S, const double *constants, const double *u, double *out)
{
    const long N = plane_of(L);
    #pragma omp parallel num_threads(team_of(L, 1))
    {
        vd *buffer = (vd *)(S->memory + omp_get_thread_num() * S->stride);
        #pragma omp for schedule(static)
        for (long k = 0; k < L->layers; k++)
            energy_d(L, u + k * N, u + (k + 1) * N, constants, out + k * L->ny * L->nx, buffer);
    }
}
