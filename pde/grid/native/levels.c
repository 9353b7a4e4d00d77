/* Between levels: full weighting, its transpose, coefficients, diagonals. */

/* b of the coarse level = P^T d of the fine one. */
static void restrict_residual(const Level *F, const Level *C, const Scratch *S, const Columns *columns)
{
    const long X = F->nx + 1, R = rows_of(F), Q = R * X, N = DOFS * Q;
    const long Xc = C->nx + 1, Rc = rows_of(C), Qc = Rc * Xc, Nc = DOFS * Qc;
    #pragma omp parallel num_threads(team_of(F, columns->count))
    {
        float *sum = (float *)(S->memory + omp_get_thread_num() * S->stride);
        #pragma omp for collapse(2) schedule(static)
        for (long column = 0; column < columns->count; column++)
        for (long K = 0; K <= C->layers; K++) {
            const float *residual = F->d + columns->which[column] * F->apart;
            float *target = C->b + columns->which[column] * C->apart;
            for (long c = 0; c < DOFS; c++) {
                const float *mid = residual + 2 * K * N + c * Q;
                const float *low = K > 0 ? mid - N : 0, *high = K < C->layers ? mid + N : 0;
                for (long i = 0; i < Q; i++) sum[i] = mid[i];
                if (low) for (long i = 0; i < Q; i++) sum[i] += 0.5f * low[i];
                if (high) for (long i = 0; i < Q; i++) sum[i] += 0.5f * high[i];
                float *row = sum + Q + 2 * VL;
                row[-1] = 0;
                for (long J = 0; J < Rc; J++) {
                    float *restrict out = target + K * Nc + c * Qc + J * Xc;
                    const float *s = sum + 2 * J * X;
                    for (long i = 0; i < X; i++) row[i] = s[i];
                    if (DIM == 3 && J > 0) for (long i = 0; i < X; i++) row[i] += 0.5f * s[i - X];
                    if (DIM == 3 && J < Rc - 1) for (long i = 0; i < X; i++) row[i] += 0.5f * s[i + X];
                    row[X] = 0;
                    for (long I = 0; I < Xc; I++) out[I] = row[2 * I] + 0.5f * (row[2 * I - 1] + row[2 * I + 1]);
                }
            }
            hold(C, K, target + K * Nc);
        }
    }
}

/* z of the fine level += P z of the coarse one. */
static void prolong_correction(const Level *F, const Level *C, const Scratch *S, const Columns *columns)
{
    const long X = F->nx + 1, R = rows_of(F), Q = R * X, N = DOFS * Q;
    const long Xc = C->nx + 1, Rc = rows_of(C), Qc = Rc * Xc, Nc = DOFS * Qc;
    #pragma omp parallel num_threads(team_of(F, columns->count))
    {
        float *row = (float *)(S->memory + omp_get_thread_num() * S->stride);
        #pragma omp for collapse(2) schedule(static)
        for (long column = 0; column < columns->count; column++)
        for (long k = 0; k <= F->layers; k++)
            for (long c = 0; c < DOFS; c++)
                for (long j = 0; j < R; j++) {
                    const float *a = C->z + columns->which[column] * C->apart + (k / 2) * Nc + c * Qc + (j / 2) * Xc;
                    const long up = (k & 1) ? Nc : 0, side = (j & 1) ? Xc : 0;
                    if (up && side) for (long i = 0; i < Xc; i++) row[i] = 0.25f * (a[i] + a[i + up] + a[i + side] + a[i + up + side]);
                    else if (up || side) for (long i = 0; i < Xc; i++) row[i] = 0.5f * (a[i] + a[i + up + side]);
                    else for (long i = 0; i < Xc; i++) row[i] = a[i];
                    float *out = F->z + columns->which[column] * F->apart + k * N + c * Q + j * X;
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
    #pragma omp parallel for schedule(static) num_threads(team_of(F, 1))
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
    #pragma omp parallel for schedule(static) num_threads(team_of(F, 1))
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
    #pragma omp parallel for schedule(static) num_threads(team_of(F, 1))
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
        #pragma omp parallel for schedule(static) num_threads(team_of(L, 1))
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
    #pragma omp parallel for simd schedule(static) num_threads(team_of(L, 1))
    for (long i = 0; i < (L->layers + 1) * N; i++) L->dinv[i] = L->dinv[i] > 0 ? 1 / L->dinv[i] : 0;
}

/* Level 0: dinv = 1 / sum of the moduli around each node, zero where there is no material. */
void inverse_modulus_sum(const Level *L, long stride)
{
    const long X = L->nx + 1, R = rows_of(L), Q = R * X;
    #pragma omp parallel for schedule(static) num_threads(team_of(L, 1))
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
