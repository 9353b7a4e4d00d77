/* Vectors of the conjugate gradients: one pass each, sums per plane so that their order is always the same. Columns lie
   as far apart as those of level 0; alpha, beta and scale are one number per column. */

/* p = z + beta p */
void direction(const Level *L, const Columns *C, double *restrict p, const double *beta)
{
    const long N = plane_of(L);
    #pragma omp parallel for collapse(2) schedule(static) num_threads(team_of(L, C->count))
    for (long c = 0; c < C->count; c++)
    for (long k = 0; k <= L->layers; k++) {
        const float *restrict z = L->z;
        const long column = C->which[c], start = column * L->apart + k * N;
        const double factor = beta[column];
        /* What an earlier solve left in p need not be a number. */
        if (factor == 0) for (long i = start; i < start + N; i++) p[i] = z[i];
        else
        #pragma omp simd
        for (long i = start; i < start + N; i++) p[i] = z[i] + factor * p[i];
    }
}

/* x += alpha p; r -= alpha q; b of level 0 = scale r in single precision; partial[column, plane] = |r|^2 over the plane */
void advance(const Level *L, const Columns *C, double *restrict x, double *restrict r, const double *restrict p,
             const double *restrict q, const double *alpha, const double *scale, double *partial)
{
    const long N = plane_of(L), planes = L->layers + 1;
    #pragma omp parallel for collapse(2) schedule(static) num_threads(team_of(L, C->count))
    for (long c = 0; c < C->count; c++)
    for (long k = 0; k <= L->layers; k++) {
        float *restrict b = L->b;
        const long column = C->which[c], start = column * L->apart + k * N;
        const double step = alpha[column], factor = scale[column];
        double sum = 0;
        #pragma omp simd reduction(+ : sum)
        for (long i = start; i < start + N; i++) {
            x[i] += step * p[i];
            const double v = r[i] - step * q[i];
            r[i] = v;
            b[i] = (float)(factor * v);
            sum += v * v;
        }
        partial[column * planes + k] = sum;
    }
}
