package io.headrace.formats;

import java.math.BigDecimal;
import java.util.regex.Pattern;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.DecimalType;

/**
 * Exact decimal numbers, as JSON writes numbers.
 *
 * <p>They never pass through a double. A number with more digits than its type has is refused, not
 * rounded; zeros at the end do not count as digits.
 */
final class DecimalText {
    // The digits of other scripts, which the class below would read too, are no digits in JSON.
    private static final Pattern NUMBER =
            Pattern.compile("[-+]?[0-9]+([.][0-9]+)?([eE][-+]?[0-9]+)?");
    private static final int LONGEST = 1000;
    private static final int LONG_DIGITS = 18;

    private final int precision;
    private final int scale;

    DecimalText(DecimalType type) {
        precision = type.precision();
        scale = type.scale();
    }

    Decimal read(char[] text, int start, int length) throws Unreadable {
        Decimal plain = plain(text, start, start + length);
        return plain != null ? plain : any(text, start, length);
    }

    /** Reads what most numbers are: a few digits with at most one point. */
    private Decimal plain(char[] text, int start, int end) {
        boolean negative = start < end && text[start] == '-';
        long digits = 0;
        int decimals = -1;
        int first = negative ? start + 1 : start;
        if (end == first || end - first > LONG_DIGITS) {
            return null;
        }
        for (int i = first; i < end; i++) {
            int digit = text[i] - '0';
            if (text[i] == '.' && decimals < 0 && i > first && i < end - 1) {
                decimals = 0;
            } else if (digit >= 0 && digit <= 9) {
                digits = digits * 10 + digit;
                decimals += decimals < 0 ? 0 : 1;
            } else {
                return null;
            }
        }
        return scaled(negative ? -digits : digits, Math.max(decimals, 0));
    }

    private Decimal scaled(long digits, int decimals) {
        int missing = scale - decimals;
        long[] powers = Decimal.POW_10();
        if (missing < 0 || missing >= powers.length) {
            return null;
        }
        long size = Math.abs(digits);
        if (precision > LONG_DIGITS || size >= powers[LONG_DIGITS - missing]) {
            return fitted(BigDecimal.valueOf(digits, decimals));
        }
        long unscaled = digits * powers[missing];
        if (precision < LONG_DIGITS && Math.abs(unscaled) >= powers[precision]) {
            return null;
        }
        return Decimal.createUnsafe(unscaled, precision, scale);
    }

    private Decimal any(char[] text, int start, int length) throws Unreadable {
        if (length > LONGEST) {
            throw outOfRange(text, start, length);
        }
        String number = new String(text, start, length);
        if (!NUMBER.matcher(number).matches()) {
            throw new Unreadable(
                    Reason.FIELD_WRONG_TYPE,
                    "a decimal number is required, " + Shown.quoted(number) + " came");
        }
        try {
            Decimal fitted = fitted(new BigDecimal(number));
            if (fitted != null) {
                return fitted;
            }
        } catch (NumberFormatException e) {
            // Its exponent alone is beyond what can be computed with.
            throw outOfRange(text, start, length);
        }
        throw outOfRange(text, start, length);
    }

    /** Gives a number this type, or null where it has too many digits. */
    Decimal fitted(BigDecimal number) {
        if (number.signum() == 0) {
            return Decimal.apply(BigDecimal.ZERO.setScale(scale), precision, scale);
        }
        // Before anything is spelled out: 1e999999999 has a thousand million digits.
        if ((long) number.precision() - number.scale() > precision - scale) {
            return null;
        }
        BigDecimal bare = number.scale() > scale ? number.stripTrailingZeros() : number;
        if (bare.scale() > scale) {
            return null;
        }
        return Decimal.apply(bare.setScale(scale), precision, scale);
    }

    private Unreadable outOfRange(char[] text, int start, int length) {
        return outOfRange(Shown.quoted(text, start, length));
    }

    /** Says that a number, already shown, has too many digits. */
    Unreadable outOfRange(String shown) {
        return new Unreadable(
                Reason.NUMBER_OUT_OF_RANGE,
                "a decimal of at most "
                        + (precision - scale)
                        + " digits before the point and "
                        + scale
                        + " after it is required, "
                        + shown
                        + " came");
    }
}
