/* Vectors of the conjugate gradients: one pass each, sums per plane so that their order is always the same. */

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
