package report

import (
	"math"
	"strconv"
	"strings"
	"time"

	"dumptool/internal/compare/metrics"
	"dumptool/internal/jsonpos"
)

// undefined is the cell of an undefined number, noValue the same in text for people.
const (
	undefined = "NA"
	noValue   = "-"
)

// formatNumberAs formats a number. All forms print nan, inf and -inf as words.
type formatNumberAs func(x float64) string

// allDigits formats x with all digits; parsing gives x again.
func allDigits(x float64) string { return jsonpos.FormatFloat(x) }

// significantDigits formats numbers with n significant digits.
func significantDigits(n int) formatNumberAs {
	return func(x float64) string {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return allDigits(x)
		}
		return strconv.FormatFloat(x, 'g', n, 64)
	}
}

// fourDigits formats x with four digits, whole numbers in full, and numbers near 1 with enough digits to
// show the difference.
func fourDigits(x float64) string {
	if x == math.Trunc(x) && math.Abs(x) < 1e6 {
		return strconv.FormatFloat(x, 'f', -1, 64)
	}
	text := significantDigits(4)(x)
	if x != 1 && text == "1" {
		return significantDigits(9)(x)
	}
	return text
}

// distinguishingFormat returns the first of short, 6 and 9 digits that shows the difference of two numbers.
func distinguishingFormat(a, b metrics.Metric) formatNumberAs {
	for _, f := range []formatNumberAs{fourDigits, significantDigits(6)} {
		if f(a.Value()) != f(b.Value()) {
			return f
		}
	}
	return significantDigits(9) // of a float32
}

// formatCosine formats x with at most 6 decimals; the result is 1 only if x is 1 within rounding.
func formatCosine(x float64) string {
	if text := strconv.FormatFloat(x, 'f', 6, 64); text == "1.000000" && x < 1-1e-12 {
		return "0.999999"
	}
	return strconv.FormatFloat(math.Round(x*1e6)/1e6, 'f', -1, 64)
}

// manyDigits is the number from which tables print an exponent: a float64 has no more digits before
// the decimal point.
const manyDigits = 1e15

// fixedDecimals formats numbers with n decimals, and large numbers with an exponent.
func fixedDecimals(n int) formatNumberAs {
	return func(x float64) string {
		switch {
		case math.IsNaN(x) || math.IsInf(x, 0):
			return allDigits(x)
		case math.Abs(x) >= manyDigits:
			return strconv.FormatFloat(x, 'e', 6, 64)
		}
		return strconv.FormatFloat(x, 'f', n, 64)
	}
}

// hpaaNumber formats x with 6 decimals as HPAA does, with 9 digits if the decimals would be 0, and
// large numbers with all digits and an exponent.
func hpaaNumber(x float64) string {
	text := fixedDecimals(6)(x)
	switch {
	case math.Abs(x) >= manyDigits && !math.IsInf(x, 0):
		return strconv.FormatFloat(x, 'e', -1, 64)
	case x != 0 && strings.Trim(text, "-0.") == "":
		return significantDigits(9)(x)
	}
	return text
}

// metricOr formats a metric; other stands for an undefined one.
func metricOr(m metrics.Metric, other string, f formatNumberAs) string {
	if !m.IsDefined() {
		return other
	}
	return f(m.Value())
}

// exactMetric formats a metric for programs, shortMetric for people.
func exactMetric(m metrics.Metric) string { return metricOr(m, undefined, allDigits) }
func shortMetric(m metrics.Metric) string { return metricOr(m, noValue, fourDigits) }

// differenceMetric returns a difference of elements as a metric; NaN is undefined.
func differenceMetric(x float64) metrics.Metric { return metrics.NumberIf(x, !math.IsNaN(x)) }

// formatElement formats an element: integers in full, others with f, complex numbers as 1+2j.
func formatElement(v metrics.Value, f formatNumberAs) string {
	h := v.DType.Host()
	switch {
	case h.Integer():
		return v.String()
	case !h.Complex():
		return f(v.Real)
	}
	imaginary := f(v.Imag)
	if imaginary[0] != '-' {
		imaginary = "+" + imaginary
	}
	return f(v.Real) + imaginary + "j"
}

// hpaaElement formats an element as HPAA does: integers have decimals too.
func hpaaElement(v metrics.Value) string {
	if v.DType.Host().Integer() {
		return formatElement(v, hpaaNumber) + ".000000"
	}
	return formatElement(v, hpaaNumber)
}

// shownDigits is the number of digits of elements in text: enough to see a difference.
const shownDigits = 7

// wholeOrSix formats a value that may be missing: whole numbers in full, others with six digits.
func wholeOrSix(x *float64) string {
	const most = 1 << 53 // beyond it float64 skips integers
	if x != nil && *x == math.Trunc(*x) && math.Abs(*x) < most {
		return strconv.FormatFloat(*x, 'f', -1, 64)
	}
	return sixDigits(x)
}

// sixDigits formats a value that may be missing, with six digits.
func sixDigits(x *float64) string {
	if x == nil {
		return noValue
	}
	return strconv.FormatFloat(*x, 'g', 6, 64)
}

// dateTime formats microseconds since 1970 as UTC; empty for 0, which is unknown, and beyond the
// year 9999.
func dateTime(micros uint64) string {
	const lastYear = 9999
	t := time.UnixMicro(int64(micros)).UTC()
	if micros == 0 || micros > math.MaxInt64 || t.Year() > lastYear {
		return ""
	}
	return t.Format("2006-01-02 15:04:05.000000")
}
