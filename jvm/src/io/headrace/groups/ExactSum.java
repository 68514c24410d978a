package io.headrace.groups;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.math.RoundingMode;
import java.nio.ByteBuffer;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.DecimalType;

/**
 * A sum that loses nothing, so that what was added can be taken back.
 *
 * <p>Every finite number has a finite decimal form. What is not finite is counted beside it.
 */
final class ExactSum {
    private static final int MOST_DIGITS = 38;
    private static final int SUM_DIGITS = 10;
    private static final int AVG_DIGITS = 4;

    private BigDecimal total = BigDecimal.ZERO;
    private long nans;
    private long above;
    private long below;

    /** The type of a sum of values of a type, as Spark has it. */
    static DataType sumType(DataType of) {
        return of instanceof DecimalType decimal
                ? bounded(decimal.precision() + SUM_DIGITS, decimal.scale())
                : of;
    }

    /** The type of a mean of values of a type, as Spark has it. */
    static DataType meanType(DataType of) {
        return of instanceof DecimalType decimal
                ? bounded(decimal.precision() + AVG_DIGITS, decimal.scale() + AVG_DIGITS)
                : DataTypes.DoubleType;
    }

    /** Adds a value, or takes it back: a long, a double or Spark's decimal. */
    void add(Object value, boolean isTakenBack) {
        if (value instanceof Double number && !Double.isFinite(number)) {
            int one = isTakenBack ? -1 : 1;
            nans += Double.isNaN(number) ? one : 0;
            above += number == Double.POSITIVE_INFINITY ? one : 0;
            below += number == Double.NEGATIVE_INFINITY ? one : 0;
            return;
        }
        BigDecimal exact = exact(value);
        total = isTakenBack ? total.subtract(exact) : total.add(exact);
    }

    /** Whether nothing is left. */
    boolean isEmpty() {
        return total.signum() == 0 && nans == 0 && above == 0 && below == 0;
    }

    /** Gives the sum; null if it does not fit its type. */
    Object sum(DataType type) {
        if (type instanceof DecimalType decimal) {
            return fitted(total.setScale(decimal.scale()), decimal);
        }
        if (type == DataTypes.DoubleType) {
            return real();
        }
        BigInteger whole = total.toBigIntegerExact();
        return whole.bitLength() < Long.SIZE ? whole.longValue() : null;
    }

    /** Gives the mean of so many values; null if it does not fit its type. */
    Object mean(DataType type, long count) {
        if (type instanceof DecimalType decimal) {
            BigDecimal number = BigDecimal.valueOf(count);
            return fitted(total.divide(number, decimal.scale(), RoundingMode.HALF_UP), decimal);
        }
        return real() / count;
    }

    void write(ByteBuffer out) {
        // Zeros would stay behind numbers with many digits that are gone.
        BigDecimal kept = total.scale() > MOST_DIGITS ? total.stripTrailingZeros() : total;
        byte[] digits = kept.unscaledValue().toByteArray();
        out.putLong(nans).putLong(above).putLong(below);
        out.putInt(kept.scale()).putInt(digits.length).put(digits);
    }

    /** At least as many bytes as {@link #write} needs. */
    int size() {
        return Long.BYTES * 3 + Integer.BYTES * 2 + total.unscaledValue().bitLength() / 8 + 1;
    }

    static ExactSum read(ByteBuffer in) {
        ExactSum sum = new ExactSum();
        sum.nans = in.getLong();
        sum.above = in.getLong();
        sum.below = in.getLong();
        int scale = in.getInt();
        byte[] digits = new byte[in.getInt()];
        in.get(digits);
        sum.total = new BigDecimal(new BigInteger(digits), scale);
        return sum;
    }

    private double real() {
        if (nans > 0 || above > 0 && below > 0) {
            return Double.NaN;
        }
        if (above > 0 || below > 0) {
            return above > 0 ? Double.POSITIVE_INFINITY : Double.NEGATIVE_INFINITY;
        }
        return total.doubleValue();
    }

    private static BigDecimal exact(Object value) {
        if (value instanceof Long number) {
            return BigDecimal.valueOf(number);
        }
        // Not valueOf, which rounds to the digits that are shown.
        return value instanceof Double number
                ? new BigDecimal(number)
                : ((Decimal) value).toJavaBigDecimal();
    }

    private static Decimal fitted(BigDecimal number, DecimalType type) {
        return number.precision() > type.precision()
                ? null
                : Decimal.apply(number, type.precision(), type.scale());
    }

    private static DecimalType bounded(int precision, int scale) {
        return new DecimalType(Math.min(precision, MOST_DIGITS), Math.min(scale, MOST_DIGITS));
    }
}
