// Functions of rocSPARSE of every level, in several types and odd sizes. All numbers are small and
// whole, so that what it computes is exact in whatever order, and is compared with the same on the
// host; a line a round says what it was. The type is another each round.
//
//   sparse [ROUNDS [ROWS]]
#include <rocsparse/rocsparse.h>

#include <algorithm>
#include <map>
#include <type_traits>

#include "array.h"

#define SPARSE(call)                                                                 \
    do {                                                                             \
        rocsparse_status status_ = (call);                                           \
        if (status_ != rocsparse_status_success) {                                   \
            fprintf(stderr, "%s:%d: %s: status %d\n", __FILE__, __LINE__, #call,     \
                    (int)status_);                                                   \
            exit(1);                                                                 \
        }                                                                            \
    } while (0)

// One name for the functions of four types.
#define TYPED(name)                                                              \
    template <class T, class... A>                                               \
    static rocsparse_status name(A... a) {                                       \
        if constexpr (std::is_same_v<T, float>) return rocsparse_s##name(a...);  \
        if constexpr (std::is_same_v<T, double>) return rocsparse_d##name(a...); \
        if constexpr (std::is_same_v<T, rocsparse_float_complex>)                \
            return rocsparse_c##name(a...);                                      \
        if constexpr (std::is_same_v<T, rocsparse_double_complex>)               \
            return rocsparse_z##name(a...);                                      \
    }
TYPED(axpyi)
TYPED(doti)
TYPED(gthr)
TYPED(gthrz)
TYPED(sctr)
TYPED(csrmv_analysis)
TYPED(csrmv)
TYPED(coomv)
TYPED(ellmv)
TYPED(hybmv)
TYPED(bsrmv)
TYPED(csrsv_buffer_size)
TYPED(csrsv_analysis)
TYPED(csrsv_solve)
TYPED(csrmm)
TYPED(csrsm_buffer_size)
TYPED(csrsm_analysis)
TYPED(csrsm_solve)
TYPED(gemmi)
TYPED(csrgeam)
TYPED(csrgemm_buffer_size)
TYPED(csrgemm)
TYPED(csrilu0_buffer_size)
TYPED(csrilu0_analysis)
TYPED(csrilu0)
TYPED(csric0_buffer_size)
TYPED(csric0_analysis)
TYPED(csric0)
TYPED(csr2csc)
TYPED(csr2ell)
TYPED(csr2hyb)
TYPED(csr2bsr)
TYPED(bsr2csr)
TYPED(csr2dense)
TYPED(nnz)
TYPED(dense2csr)

static rocsparse_handle handle;
constexpr auto kPlain = rocsparse_operation_none;
constexpr auto kTurned = rocsparse_operation_transpose;
constexpr auto kZero = rocsparse_index_base_zero;
constexpr auto kReuse = rocsparse_analysis_policy_reuse;
constexpr auto kAuto = rocsparse_solve_policy_auto;
using Ints = std::vector<int>;

struct Info {
    rocsparse_mat_info info;
    Info() { SPARSE(rocsparse_create_mat_info(&info)); }
    Info(const Info&) = delete;
    ~Info() { SPARSE(rocsparse_destroy_mat_info(info)); }
};

struct Description {
    rocsparse_mat_descr descr;
    Description() { SPARSE(rocsparse_create_mat_descr(&descr)); }
    Description(const Description&) = delete;
    Description(rocsparse_fill_mode fill, rocsparse_diag_type diagonal) : Description() {
        SPARSE(rocsparse_set_mat_fill_mode(descr, fill));
        SPARSE(rocsparse_set_mat_diag_type(descr, diagonal));
    }
    ~Description() { SPARSE(rocsparse_destroy_mat_descr(descr)); }
};

// A matrix on the host, by row and column. An entry may be zero.
template <class T>
struct Matrix {
    int rows, columns;
    std::vector<std::map<int, T>> at;

    Matrix(int rows, int columns) : rows(rows), columns(columns), at(rows) {}

    int entries() const {
        int sum = 0;
        for (auto& row : at) sum += row.size();
        return sum;
    }
    Ints starts() const {
        Ints starts{0};
        for (auto& row : at) starts.push_back(starts.back() + row.size());
        return starts;
    }
    Ints places() const {
        Ints places;
        for (auto& row : at)
            for (auto& [column, value] : row) places.push_back(column);
        return places;
    }
    Ints row_of_each() const {
        Ints rows_of;
        for (int r = 0; r < rows; ++r) rows_of.insert(rows_of.end(), at[r].size(), r);
        return rows_of;
    }
    std::vector<T> values() const {
        std::vector<T> values;
        for (auto& row : at)
            for (auto& [column, value] : row) values.push_back(value);
        return values;
    }
    Matrix turned() const {
        Matrix result(columns, rows);
        for (int r = 0; r < rows; ++r)
            for (auto& [column, value] : at[r]) result.at[column][r] = value;
        return result;
    }
    Matrix operator*(const Matrix& other) const {
        Matrix result(rows, other.columns);
        for (int r = 0; r < rows; ++r)
            for (auto& [k, value] : at[r])
                for (auto& [column, factor] : other.at[k]) result.at[r][column] += value * factor;
        return result;
    }
    // Dense, column by column.
    std::vector<T> dense() const {
        std::vector<T> dense(size_t(rows) * columns, T(0));
        for (int r = 0; r < rows; ++r)
            for (auto& [column, value] : at[r]) dense[size_t(column) * rows + r] = value;
        return dense;
    }
};

// The same on the device.
template <class T>
struct Csr {
    int rows, columns, entries;
    Array<T> values;
    Array<int> starts, places;
    explicit Csr(const Matrix<T>& from)
        : rows(from.rows),
          columns(from.columns),
          entries(from.entries()),
          values(from.values()),
          starts(from.starts()),
          places(from.places()) {}
    void expect(const char* what, const Matrix<T>& expected) const {
        starts.expect(what, expected.starts());
        places.expect(what, expected.places());
        values.expect(what, expected.values());
    }
    Csr(int rows, int columns, int entries)
        : rows(rows),
          columns(columns),
          entries(entries),
          values(std::max(entries, 1)),
          starts(rows + 1),
          places(std::max(entries, 1)) {}
};

// From -2 to 2, never 0.
template <class T>
static T number(unsigned seed) {
    const int values[] = {-2, -1, 1, 2};
    auto part = [&](unsigned by) { return values[mix(seed + by) % 4]; };
    if constexpr (std::is_floating_point_v<T>) return T(part(0));
    else return T(part(0), part(7));
}

template <class T>
static std::vector<T> numbers(size_t n, unsigned seed) {
    std::vector<T> result;
    for (size_t i = 0; i < n; ++i) result.push_back(number<T>(seed + i));
    return result;
}

// A few entries a row, none in some, and one row that is nearly full.
template <class T>
static Matrix<T> scattered(int rows, int columns, unsigned seed) {
    Matrix<T> result(rows, columns);
    for (int r = 0; r < rows; ++r) {
        unsigned in_row = r == rows / 3 ? columns : mix(seed + r) % 9;
        for (unsigned i = 0; i < in_row; ++i) {
            unsigned random = mix(seed + 1000 * r + i);
            result.at[r][random % columns] = number<T>(random);
        }
    }
    return result;
}

// Lower triangle with a diagonal of `diagonal`. No chain of rows that need each other is longer than
// eight: solutions stay small.
template <class T>
static Matrix<T> lower(int rows, unsigned seed, T diagonal) {
    Matrix<T> result(rows, rows);
    int step = (rows + 7) / 8;
    for (int r = 0; r < rows; ++r) {
        for (int i = 0; i < 2; ++i) {
            int column = r - step - int(mix(seed + 2 * r + i) % step);
            if (column >= 0) result.at[r][column] = T(mix(seed + r) % 2 ? 1 : -1);
        }
        result.at[r][r] = diagonal;
    }
    return result;
}

// alpha * matrix * x + beta * y
template <class T>
static std::vector<T> times(T alpha, const Matrix<T>& matrix, const std::vector<T>& x, T beta,
                            const std::vector<T>& y) {
    std::vector<T> result = y;
    for (int r = 0; r < matrix.rows; ++r) {
        T sum = T(0);
        for (auto& [column, value] : matrix.at[r]) sum += value * x[column];
        result[r] = alpha * sum + beta * y[r];
    }
    return result;
}

template <class T>
static void vectors(int n, unsigned seed) {
    auto dense = numbers<T>(n, seed);
    Ints where;
    for (int i = 0; i < n; ++i)
        if (mix(seed + i) % 3 == 0) where.push_back(i);
    int entries = where.size();
    auto sparse = numbers<T>(entries, seed + 1);
    Array<T> x(sparse), y(dense);
    Array<int> at(where);
    T alpha = T(3), product = T(0), expected = T(0);
    for (int i = 0; i < entries; ++i) expected += dense[where[i]] * sparse[i];
    SPARSE(doti<T>(handle, entries, x.data, at.data, y.data, &product, kZero));
    if (product != expected) fprintf(stderr, "doti is wrong\n"), exit(1);
    for (int i = 0; i < entries; ++i) dense[where[i]] += alpha * sparse[i];
    SPARSE(axpyi<T>(handle, entries, &alpha, x.data, at.data, y.data, kZero));
    y.expect("axpyi", dense);
    for (int i = 0; i < entries; ++i) sparse[i] = dense[where[i]];
    SPARSE(gthr<T>(handle, entries, y.data, x.data, at.data, kZero));
    x.expect("gthr", sparse);
    for (int place : where) dense[place] = T(0);
    SPARSE(gthrz<T>(handle, entries, y.data, x.data, at.data, kZero));
    y.expect("gthrz", dense);
    for (int i = 0; i < entries; ++i) dense[where[i]] = sparse[i];
    SPARSE(sctr<T>(handle, entries, x.data, at.data, y.data, kZero));
    y.expect("sctr", dense);
}

template <class T>
static void conjugated(int n, unsigned seed) {
    auto dense = numbers<T>(n, seed), sparse = numbers<T>(n, seed + 1);
    Ints where;
    for (int i = n; i-- > 0;) where.push_back(i);
    Array<T> x(sparse), y(dense), result(1);
    Array<int> at(where);
    T expected = T(0);
    for (int i = 0; i < n; ++i) expected += std::conj(sparse[i]) * dense[where[i]];
    // Scalars on the device.
    SPARSE(rocsparse_set_pointer_mode(handle, rocsparse_pointer_mode_device));
    SPARSE(rocsparse_zdotci(handle, n, x.data, at.data, y.data, result.data, kZero));
    SPARSE(rocsparse_set_pointer_mode(handle, rocsparse_pointer_mode_host));
    result.expect("dotci", {expected});
}

template <class T>
static void products(int rows, int columns, unsigned seed) {
    auto matrix = scattered<T>(rows, columns, seed);
    Csr<T> a(matrix);
    Description d;
    auto x = numbers<T>(columns, seed), y = numbers<T>(rows, seed + 1);
    T alpha = T(2), beta = T(-1);
    auto expected = times(alpha, matrix, x, beta, y);
    Array<T> dx(x);
    {
        Array<T> dy(y);
        SPARSE(csrmv<T>(handle, kPlain, rows, columns, a.entries, &alpha, d.descr, a.values.data,
                        a.starts.data, a.places.data, nullptr, dx.data, &beta, dy.data));
        dy.expect("csrmv", expected);
    }
    {
        Array<T> dy(y);
        Info info;
        SPARSE(csrmv_analysis<T>(handle, kPlain, rows, columns, a.entries, d.descr, a.values.data,
                                 a.starts.data, a.places.data, info.info));
        SPARSE(csrmv<T>(handle, kPlain, rows, columns, a.entries, &alpha, d.descr, a.values.data,
                        a.starts.data, a.places.data, info.info, dx.data, &beta, dy.data));
        dy.expect("csrmv with analysis", expected);
    }
    {
        Array<T> of_rows(y), dy(x);
        SPARSE(csrmv<T>(handle, kTurned, rows, columns, a.entries, &alpha, d.descr, a.values.data,
                        a.starts.data, a.places.data, nullptr, of_rows.data, &beta, dy.data));
        dy.expect("csrmv, transposed", times(alpha, matrix.turned(), y, beta, x));
    }
    {
        Array<T> dy(y);
        Array<int> row_of_each(a.entries);
        SPARSE(rocsparse_csr2coo(handle, a.starts.data, a.entries, rows, row_of_each.data, kZero));
        row_of_each.expect("csr2coo", matrix.row_of_each());
        SPARSE(coomv<T>(handle, kPlain, rows, columns, a.entries, &alpha, d.descr, a.values.data,
                        row_of_each.data, a.places.data, dx.data, &beta, dy.data));
        dy.expect("coomv", expected);
    }
    {
        Array<T> dy(y);
        int width = 0;
        SPARSE(rocsparse_csr2ell_width(handle, rows, d.descr, a.starts.data, d.descr, &width));
        Array<T> values(size_t(width) * rows);
        Array<int> places(size_t(width) * rows);
        SPARSE(csr2ell<T>(handle, rows, d.descr, a.values.data, a.starts.data, a.places.data, d.descr,
                          width, values.data, places.data));
        SPARSE(ellmv<T>(handle, kPlain, rows, columns, &alpha, d.descr, values.data, places.data,
                        width, dx.data, &beta, dy.data));
        dy.expect("ellmv", expected);
    }
    {
        Array<T> dy(y);
        rocsparse_hyb_mat hybrid;
        SPARSE(rocsparse_create_hyb_mat(&hybrid));
        SPARSE(csr2hyb<T>(handle, rows, columns, d.descr, a.values.data, a.starts.data, a.places.data,
                          hybrid, 4, rocsparse_hyb_partition_user));
        SPARSE(hybmv<T>(handle, kPlain, &alpha, d.descr, hybrid, dx.data, &beta, dy.data));
        dy.expect("hybmv", expected);
        SPARSE(rocsparse_destroy_hyb_mat(hybrid));
    }
}

// Blocks of `side` by `side`, through which a matrix comes back with the zeros between.
template <class T>
static void blocks(int rows, int columns, int side, unsigned seed) {
    auto matrix = scattered<T>(rows, columns, seed);
    Csr<T> a(matrix);
    Description d;
    constexpr auto kRow = rocsparse_direction_row;
    int block_rows = (rows + side - 1) / side, block_columns = (columns + side - 1) / side;
    Array<int> starts(block_rows + 1);
    int count = 0;
    SPARSE(rocsparse_csr2bsr_nnz(handle, kRow, rows, columns, d.descr, a.starts.data, a.places.data,
                                 side, d.descr, starts.data, &count));
    Array<int> places(count);
    Array<T> values(size_t(count) * side * side);
    SPARSE(csr2bsr<T>(handle, kRow, rows, columns, d.descr, a.values.data, a.starts.data,
                      a.places.data, side, d.descr, values.data, starts.data, places.data));
    auto x = numbers<T>(block_columns * side, seed), y = numbers<T>(block_rows * side, seed + 1);
    Array<T> dx(x), dy(y);
    T alpha = T(-3), beta = T(2);
    SPARSE(bsrmv<T>(handle, kRow, kPlain, block_rows, block_columns, count, &alpha, d.descr,
                    values.data, starts.data, places.data, side, dx.data, &beta, dy.data));
    Matrix<T> padded(block_rows * side, block_columns * side);
    for (int r = 0; r < rows; ++r)
        for (auto& [column, value] : matrix.at[r]) padded.at[r][column] = value;
    dy.expect("bsrmv", times(alpha, padded, x, beta, y));
    for (int r = 0; r < rows; ++r) {
        for (auto& [column, value] : matrix.at[r]) {
            for (int i = 0; i < side * side; ++i) {
                padded.at[r / side * side + i / side][column / side * side + i % side] += T(0);
            }
        }
    }
    Csr<T> back(padded.rows, padded.columns, count * side * side);
    SPARSE(bsr2csr<T>(handle, kRow, block_rows, block_columns, d.descr, values.data, starts.data,
                      places.data, side, d.descr, back.values.data, back.starts.data,
                      back.places.data));
    back.expect("bsr2csr", padded);
}

template <class T>
static void solves(int n, unsigned seed) {
    int right_sides = 5;
    T alpha = T(1);
    for (bool unit : {true, false}) {
        auto matrix = lower<T>(n, seed, unit ? T(7) : T(-1));
        auto effective = lower<T>(n, seed, unit ? T(1) : T(-1));
        Csr<T> a(matrix);
        Description d(rocsparse_fill_mode_lower,
                      unit ? rocsparse_diag_type_unit : rocsparse_diag_type_non_unit);
        for (auto operation : {kPlain, kTurned}) {
            auto of = operation == kPlain ? effective : effective.turned();
            auto x = numbers<T>(n, seed + 1);
            Array<T> b(times(T(1), of, x, T(0), x)), solution(n);
            Info info;
            size_t size = 0;
            SPARSE(csrsv_buffer_size<T>(handle, operation, n, a.entries, d.descr, a.values.data,
                                        a.starts.data, a.places.data, info.info, &size));
            Array<char> buffer(size);
            SPARSE(csrsv_analysis<T>(handle, operation, n, a.entries, d.descr, a.values.data,
                                     a.starts.data, a.places.data, info.info, kReuse, kAuto,
                                     buffer.data));
            SPARSE(csrsv_solve<T>(handle, operation, n, a.entries, &alpha, d.descr, a.values.data,
                                  a.starts.data, a.places.data, info.info, b.data, solution.data,
                                  kAuto, buffer.data));
            solution.expect("csrsv", x);
            SPARSE(rocsparse_csrsv_clear(handle, d.descr, info.info));
        }
        std::vector<T> many, b;
        for (int s = 0; s < right_sides; ++s) {
            auto x = numbers<T>(n, seed + 10 * s);
            auto product = times(T(1), effective, x, T(0), x);
            many.insert(many.end(), x.begin(), x.end());
            b.insert(b.end(), product.begin(), product.end());
        }
        Array<T> sides(b);
        Info info;
        size_t size = 0;
        SPARSE(csrsm_buffer_size<T>(handle, kPlain, kPlain, n, right_sides, a.entries, &alpha, d.descr,
                                    a.values.data, a.starts.data, a.places.data, sides.data, n,
                                    info.info, kAuto, &size));
        Array<char> buffer(size);
        SPARSE(csrsm_analysis<T>(handle, kPlain, kPlain, n, right_sides, a.entries, &alpha, d.descr,
                                 a.values.data, a.starts.data, a.places.data, sides.data, n,
                                 info.info, kReuse, kAuto, buffer.data));
        SPARSE(csrsm_solve<T>(handle, kPlain, kPlain, n, right_sides, a.entries, &alpha, d.descr,
                              a.values.data, a.starts.data, a.places.data, sides.data, n, info.info,
                              kAuto, buffer.data));
        sides.expect("csrsm", many);
        SPARSE(rocsparse_csrsm_clear(handle, info.info));
    }
}

// Of L * U with whole numbers the incomplete factors are L and U themselves.
template <class T>
static void factors(int n, unsigned seed) {
    Description d;
    auto left = lower<T>(n, seed, T(1)), right = lower<T>(n, seed + 1, T(-1)).turned();
    auto product = left * right;
    Csr<T> a(product);
    Info info;
    size_t size = 0;
    SPARSE(csrilu0_buffer_size<T>(handle, n, a.entries, d.descr, a.values.data, a.starts.data,
                                  a.places.data, info.info, &size));
    {
        Array<char> buffer(size);
        SPARSE(csrilu0_analysis<T>(handle, n, a.entries, d.descr, a.values.data, a.starts.data,
                                   a.places.data, info.info, kReuse, kAuto, buffer.data));
        SPARSE(csrilu0<T>(handle, n, a.entries, d.descr, a.values.data, a.starts.data, a.places.data,
                          info.info, kAuto, buffer.data));
        int pivot = 0;
        auto status = rocsparse_csrilu0_zero_pivot(handle, info.info, &pivot);
        if (status != rocsparse_status_success) fprintf(stderr, "pivot %d is 0\n", pivot), exit(1);
    }
    auto both = product;
    for (int r = 0; r < n; ++r) {
        for (auto& [column, value] : both.at[r]) {
            auto& from = column < r ? left.at[r] : right.at[r];
            auto found = from.find(column);
            value = found == from.end() ? T(0) : found->second;
        }
    }
    a.values.expect("csrilu0", both.values());

    // L * L^T; what is above the diagonal stays as it is.
    auto square = left * left.turned();
    Csr<T> s(square);
    SPARSE(csric0_buffer_size<T>(handle, n, s.entries, d.descr, s.values.data, s.starts.data,
                                 s.places.data, info.info, &size));
    Array<char> buffer(size);
    SPARSE(csric0_analysis<T>(handle, n, s.entries, d.descr, s.values.data, s.starts.data,
                              s.places.data, info.info, rocsparse_analysis_policy_force, kAuto,
                              buffer.data));
    SPARSE(csric0<T>(handle, n, s.entries, d.descr, s.values.data, s.starts.data, s.places.data,
                     info.info, kAuto, buffer.data));
    for (int r = 0; r < n; ++r) {
        for (auto& [column, value] : square.at[r]) {
            if (column > r) continue;
            auto found = left.at[r].find(column);
            value = found == left.at[r].end() ? T(0) : found->second;
        }
    }
    s.values.expect("csric0", square.values());
}

template <class T>
static void matrices(int rows, int inner, int columns, unsigned seed) {
    auto left = scattered<T>(rows, inner, seed), right = scattered<T>(inner, columns, seed + 1);
    Csr<T> a(left), b(right);
    Description d;
    T one = T(1), minus = T(-1);
    {
        // Sparse times dense, and dense times sparse, whose columns lie like our rows.
        auto dense = numbers<T>(size_t(rows) * columns, seed);
        auto expected = (left * right).dense();
        for (size_t i = 0; i < expected.size(); ++i) expected[i] -= dense[i];
        Array<T> db(right.dense()), c(dense), dense_a(left.dense()), second(dense);
        SPARSE(csrmm<T>(handle, kPlain, kPlain, rows, columns, inner, a.entries, &one, d.descr,
                        a.values.data, a.starts.data, a.places.data, db.data, inner, &minus, c.data,
                        rows));
        c.expect("csrmm", expected);
        Csr<T> turned(right.turned());
        SPARSE(gemmi<T>(handle, kPlain, kTurned, rows, columns, inner, turned.entries, &one,
                        dense_a.data, rows, d.descr, turned.values.data, turned.starts.data,
                        turned.places.data, &minus, second.data, rows));
        second.expect("gemmi", expected);
    }
    {
        auto product = left * right;
        Info info;
        size_t size = 0;
        SPARSE(csrgemm_buffer_size<T>(handle, kPlain, kPlain, rows, columns, inner, &one, d.descr,
                                      a.entries, a.starts.data, a.places.data, d.descr, b.entries,
                                      b.starts.data, b.places.data, nullptr, nullptr, 0, nullptr,
                                      nullptr, info.info, &size));
        Array<char> buffer(size);
        Csr<T> c(rows, columns, product.entries());
        int entries = 0;
        SPARSE(rocsparse_csrgemm_nnz(handle, kPlain, kPlain, rows, columns, inner, d.descr, a.entries,
                                     a.starts.data, a.places.data, d.descr, b.entries, b.starts.data,
                                     b.places.data, nullptr, 0, nullptr, nullptr, d.descr,
                                     c.starts.data, &entries, info.info, buffer.data));
        if (entries != c.entries) fprintf(stderr, "csrgemm_nnz is wrong\n"), exit(1);
        SPARSE(csrgemm<T>(handle, kPlain, kPlain, rows, columns, inner, &one, d.descr, a.entries,
                          a.values.data, a.starts.data, a.places.data, d.descr, b.entries,
                          b.values.data, b.starts.data, b.places.data, nullptr, nullptr, 0, nullptr,
                          nullptr, nullptr, d.descr, c.values.data, c.starts.data, c.places.data,
                          info.info, buffer.data));
        c.expect("csrgemm", product);
    }
    {
        auto other = scattered<T>(rows, inner, seed + 2), sum = left;
        for (int r = 0; r < rows; ++r)
            for (auto& [column, value] : other.at[r]) sum.at[r][column] += minus * value;
        Csr<T> o(other), c(rows, inner, sum.entries());
        int entries = 0;
        SPARSE(rocsparse_csrgeam_nnz(handle, rows, inner, d.descr, a.entries, a.starts.data,
                                     a.places.data, d.descr, o.entries, o.starts.data, o.places.data,
                                     d.descr, c.starts.data, &entries));
        if (entries != c.entries) fprintf(stderr, "csrgeam_nnz is wrong\n"), exit(1);
        SPARSE(csrgeam<T>(handle, rows, inner, &one, d.descr, a.entries, a.values.data, a.starts.data,
                          a.places.data, &minus, d.descr, o.entries, o.values.data, o.starts.data,
                          o.places.data, d.descr, c.values.data, c.starts.data, c.places.data));
        c.expect("csrgeam", sum);
    }
}

template <class T>
static void conversions(int rows, int columns, unsigned seed) {
    auto matrix = scattered<T>(rows, columns, seed), turned = matrix.turned();
    Csr<T> a(matrix);
    Description d;
    size_t size = 0;
    {
        Csr<T> csc(columns, rows, a.entries);
        SPARSE(rocsparse_csr2csc_buffer_size(handle, rows, columns, a.entries, a.starts.data,
                                             a.places.data, rocsparse_action_numeric, &size));
        Array<char> buffer(size);
        SPARSE(csr2csc<T>(handle, rows, columns, a.entries, a.values.data, a.starts.data,
                          a.places.data, csc.values.data, csc.places.data, csc.starts.data,
                          rocsparse_action_numeric, kZero, buffer.data));
        csc.expect("csr2csc", turned);
    }
    {
        // By column, and back by row.
        Array<int> row_of_each(matrix.row_of_each()), places(matrix.places()), order(a.entries);
        SPARSE(rocsparse_coosort_buffer_size(handle, rows, columns, a.entries, row_of_each.data,
                                             places.data, &size));
        Array<char> buffer(size);
        SPARSE(rocsparse_create_identity_permutation(handle, a.entries, order.data));
        SPARSE(rocsparse_coosort_by_column(handle, rows, columns, a.entries, row_of_each.data,
                                           places.data, order.data, buffer.data));
        places.expect("coosort_by_column", turned.row_of_each());
        row_of_each.expect("coosort_by_column", turned.places());
        SPARSE(rocsparse_coosort_by_row(handle, rows, columns, a.entries, row_of_each.data,
                                        places.data, order.data, buffer.data));
        Ints identity(a.entries);
        for (int i = 0; i < a.entries; ++i) identity[i] = i;
        order.expect("coosort_by_row", identity);
        Array<int> starts(rows + 1);
        SPARSE(rocsparse_coo2csr(handle, row_of_each.data, a.entries, rows, starts.data, kZero));
        starts.expect("coo2csr", matrix.starts());
    }
    {
        // Rows that are the wrong way round.
        auto places = matrix.places();
        auto starts = matrix.starts();
        for (int r = 0; r < rows; ++r)
            std::reverse(places.begin() + starts[r], places.begin() + starts[r + 1]);
        Array<int> unsorted(places);
        SPARSE(rocsparse_csrsort_buffer_size(handle, rows, columns, a.entries, a.starts.data,
                                             unsorted.data, &size));
        Array<char> buffer(size);
        SPARSE(rocsparse_csrsort(handle, rows, columns, a.entries, d.descr, a.starts.data,
                                 unsorted.data, nullptr, buffer.data));
        unsorted.expect("csrsort", matrix.places());
    }
    {
        Array<T> dense(size_t(rows) * columns);
        SPARSE(csr2dense<T>(handle, rows, columns, d.descr, a.values.data, a.starts.data,
                            a.places.data, dense.data, rows));
        dense.expect("csr2dense", matrix.dense());
        Array<int> in_rows(rows);
        int entries = 0;
        SPARSE(nnz<T>(handle, rocsparse_direction_row, rows, columns, d.descr, dense.data, rows,
                      in_rows.data, &entries));
        if (entries != a.entries) fprintf(stderr, "nnz is wrong\n"), exit(1);
        Csr<T> back(rows, columns, entries);
        SPARSE(dense2csr<T>(handle, rows, columns, d.descr, dense.data, rows, in_rows.data,
                            back.values.data, back.starts.data, back.places.data));
        back.expect("dense2csr", matrix);
    }
}

template <class T>
static void all(int n, unsigned seed) {
    vectors<T>(10 * n, seed);
    products<T>(n, n - n / 13, seed);
    blocks<T>(n, n - n / 29, 2 + seed % 7, seed);
    solves<T>(n, seed);
    factors<T>(n, seed);
    matrices<T>(n / 2, n / 3, 21, seed);
    conversions<T>(n - 7, n / 2, seed);
}

int main(int argc, char** argv) {
    unsigned rounds = rounds_of(argc, argv, 1);
    int rows = argc > 2 ? atoi(argv[2]) : 257;
    if (rows < 77) return 2;
    SPARSE(rocsparse_create_handle(&handle));
    for (unsigned round = 0; round < rounds; ++round) {
        digest_of_round = 14695981039346656037u;
        // The larger the type, the fewer rows.
        int n = rows - 10 * (round % 4), type = round % 3;
        if (type == 0) all<float>(n, round);
        if (type == 1) all<double>(n / 2, round);
        if (type == 2) all<rocsparse_double_complex>(n / 3, round);
        conjugated<rocsparse_double_complex>(n, round);
        say_round(round, digest_of_round);
    }
    SPARSE(rocsparse_destroy_handle(handle));
    return 0;
}
