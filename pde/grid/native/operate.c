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
