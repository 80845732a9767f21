package report

import (
	"math"
	"strconv"
	"strings"
	"time"

	"dumptool/internal/compare/metrics"
	"dumptool/internal/jsonpos"
)

// undefined is the cell of a number that does not exist, noValue its text for
// people.
const (
	undefined = "NA"
	noValue   = "-"
)

// form is a way to print a number. All of them print nan, inf and -inf as words.
type form func(x float64) string

// allDigits prints all digits, which read back as the same number.
func allDigits(x float64) string { return jsonpos.FormatFloat(x) }

// digits prints n significant digits.
func digits(n int) form {
	return func(x float64) string {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return allDigits(x)
		}
		return strconv.FormatFloat(x, 'g', n, 64)
	}
}

// short prints four digits, whole numbers in full, and of what is almost 1 as
// many as show how near it is.
func short(x float64) string {
	if x == math.Trunc(x) && math.Abs(x) < 1e6 {
		return strconv.FormatFloat(x, 'f', -1, 64)
	}
	text := digits(4)(x)
	if x != 1 && text == "1" {
		return digits(9)(x)
	}
	return text
}

// cosine prints at most 6 decimals, and as 1 only what is 1 but for the rounding
// of its sums.
func cosine(x float64) string {
	if text := strconv.FormatFloat(x, 'f', 6, 64); text == "1.000000" && x < 1-1e-12 {
		return "0.999999"
	}
	return strconv.FormatFloat(math.Round(x*1e6)/1e6, 'f', -1, 64)
}

// manyDigits is the number from which tables print an exponent: float64 has no
// more digits in front of the decimal point.
const manyDigits = 1e15

// decimals prints n decimals, and large numbers with an exponent.
func decimals(n int) form {
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

// hpaaNumber prints 6 decimals as HPAA does, or 9 digits where those would make
// a number 0, and large numbers with all digits and an exponent.
func hpaaNumber(x float64) string {
	text := decimals(6)(x)
	switch {
	case math.Abs(x) >= manyDigits && !math.IsInf(x, 0):
		return strconv.FormatFloat(x, 'e', -1, 64)
	case x != 0 && strings.Trim(text, "-0.") == "":
		return digits(9)(x)
	}
	return text
}

// orElse prints a metric in a form; other stands for one that does not exist.
func orElse(m metrics.Metric, other string, f form) string {
	if !m.Defined() {
		return other
	}
	return f(m.Value())
}

// exactMetric prints a metric for programs, shortMetric for people.
func exactMetric(m metrics.Metric) string { return orElse(m, undefined, allDigits) }
func shortMetric(m metrics.Metric) string { return orElse(m, noValue, short) }

// difference is that of two elements, of which NaN means that there is none.
func difference(x float64) metrics.Metric { return metrics.NumberIf(x, !math.IsNaN(x)) }

// element prints an element: integers in full, others in a form, complex ones
// as 1+2j.
func element(v metrics.Value, f form) string {
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

// hpaaElement prints an element as HPAA does: integers have decimals too.
func hpaaElement(v metrics.Value) string {
	if v.DType.Host().Integer() {
		return element(v, hpaaNumber) + ".000000"
	}
	return element(v, hpaaNumber)
}

// shownDigits are those of elements in text: enough to see a difference.
const shownDigits = 7

// wholeOrSix prints a value that may be missing: whole numbers in full, others to
// six digits.
func wholeOrSix(x *float64) string {
	const most = 1 << 53 // from here on not every whole number is a float64
	if x != nil && *x == math.Trunc(*x) && math.Abs(*x) < most {
		return strconv.FormatFloat(*x, 'f', -1, 64)
	}
	return sixDigits(x)
}

// sixDigits prints a value that may be missing; infinities have a sign.
func sixDigits(x *float64) string {
	if x == nil {
		return noValue
	}
	return strconv.FormatFloat(*x, 'g', 6, 64)
}

// dateTime prints microseconds since 1970 as UTC, empty for 0, an unknown time, and
// for what is beyond the year 9999.
func dateTime(micros uint64) string {
	const lastYear = 9999
	t := time.UnixMicro(int64(micros)).UTC()
	if micros == 0 || micros > math.MaxInt64 || t.Year() > lastYear {
		return ""
	}
	return t.Format("2006-01-02 15:04:05.000000")
}
