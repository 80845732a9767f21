package report

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"dumptool/internal/opdebug"
	"dumptool/internal/overflow"
	"dumptool/internal/tensor"
	"dumptool/internal/ui"
)

// WriteAnalysisCompat writes the records in the form of msaccucmp's overflow summary, for scripts
// that parse it. Values are formatted as numpy does; the mean is exact, rounded to the type of the
// tensor.
func WriteAnalysisCompat(w io.Writer, r *overflow.Report) error {
	var blocks []string
	for i := range r.Records {
		blocks = append(blocks, compatRecord(&r.Records[i], i+1))
	}
	_, err := io.WriteString(w, strings.Join(blocks, "\n")+"\n")
	return err
}

// compatRecord returns the block of one record; rank counts from 1.
func compatRecord(r *overflow.Record, rank int) string {
	lines := []string{strings.Repeat("=", 49) + fmt.Sprintf("[%d]", rank) + strings.Repeat("=", 50)}
	if r.Op != nil {
		lines = append(lines, fmt.Sprintf("[%s] %s", ui.Escape(r.Op.Type), ui.Escape(r.Op.Name)))
	}
	for _, a := range r.Units {
		lines = append(lines, fmt.Sprintf(" [%s][TaskId:%d][StreamId:%d][Status:%s]", a.Unit, a.TaskID, a.StreamID, compatStatus(&a)))
	}
	lines = append(lines, fmt.Sprintf(" [timestamp:%d]", r.Timestamp))
	tensors := slices.Clone(r.Tensors)
	slices.SortStableFunc(tensors, func(a, b overflow.Tensor) int {
		return cmp.Or(strings.Compare(string(a.Kind), string(b.Kind)), cmp.Compare(a.Index, b.Index))
	})
	for i := range tensors {
		t := &tensors[i]
		if t.Stats == nil {
			continue
		}
		lines = append(lines,
			fmt.Sprintf(" %s.%s.%d.npy", ui.Escape(r.Op.FileName), t.Kind, t.Index),
			fmt.Sprintf(" -[Format: %s] [Shape: %s] [Dtype: %s] [Max: %s] [Min: %s] [Mean: %s]",
				t.Format, t.Shape, hostOf(t), compatExtreme(t, 1), compatExtreme(t, -1), compatMean(t)))
	}
	return strings.Join(lines, "\n")
}

// compatStatus formats one status word, or four as a Python list.
func compatStatus(a *opdebug.Area) string {
	if len(a.Status) == 1 {
		return strconv.FormatUint(a.Status[0], 10)
	}
	words := make([]string, len(a.Status))
	for i, s := range a.Status {
		words[i] = strconv.FormatUint(s, 10)
	}
	return "[" + strings.Join(words, ", ") + "]"
}

// hostOf returns the host type of the elements.
func hostOf(t *overflow.Tensor) tensor.Host {
	d, _ := tensor.ParseDType(t.DType)
	return d.Host()
}

// compatCounts reports which non-finite values a tensor has, including the value that a table of
// statistics shows.
func compatCounts(t *overflow.Tensor) (nan, pos, neg bool) {
	some := func(n *int64) bool { return n != nil && *n > 0 }
	shown := 0.0
	if t.BadStatistic != nil {
		shown = float64(*t.BadStatistic)
	}
	return some(t.NaN) || math.IsNaN(shown), some(t.PosInf) || math.IsInf(shown, 1), some(t.NegInf) || math.IsInf(shown, -1)
}

// compatExtreme returns numpy's max (sign 1) or min (sign -1): NaN if any element is NaN.
func compatExtreme(t *overflow.Tensor, sign int) string {
	nan, inf, other := compatCounts(t)
	finite := t.Max
	if sign < 0 {
		inf, other, finite = other, inf, t.Min
	}
	switch {
	case nan:
		return "nan"
	case inf:
		return infinity(sign)
	case finite != nil:
		return numpyText(*finite, hostOf(t))
	case other:
		return infinity(-sign)
	}
	return "nan"
}

// infinity returns Python's text of an infinity.
func infinity(sign int) string {
	if sign < 0 {
		return "-inf"
	}
	return "inf"
}

// compatMean returns numpy's mean.
func compatMean(t *overflow.Tensor) string {
	host := hostOf(t)
	switch nan, pos, neg := compatCounts(t); {
	case nan || pos && neg || t.Mean == nil && !pos && !neg:
		return "nan"
	case pos:
		return "inf"
	case neg:
		return "-inf"
	}
	if host != tensor.HostFloat16 && host != tensor.HostFloat32 {
		host = tensor.HostFloat64 // numpy's mean of integers
	}
	return numpyText(*t.Mean, host)
}

// numpyText formats a number as str of a numpy scalar: the shortest text that parses to the same
// value of the type, positional from 1e-4 to 1e16.
func numpyText(x float64, host tensor.Host) string {
	bits := 64
	switch host {
	case tensor.HostFloat16:
		return halfText(x)
	case tensor.HostFloat32:
		bits = 32
		x = float64(float32(x))
	case tensor.HostBool:
		return map[bool]string{false: "False", true: "True"}[x != 0]
	case tensor.HostFloat64:
	case tensor.HostInt64, tensor.HostUint64:
		return wideIntText(x, host)
	default:
		return strconv.FormatFloat(x, 'f', 0, 64)
	}
	return pythonFloat(strconv.FormatFloat(x, 'e', -1, bits), x)
}

// wideIntText formats a 64-bit integer. Bounds are kept as float64, which rounds the largest
// integers up by one.
func wideIntText(x float64, host tensor.Host) string {
	switch {
	case host == tensor.HostInt64 && x >= 1<<63:
		return strconv.FormatInt(math.MaxInt64, 10)
	case host == tensor.HostUint64 && x >= 1<<64:
		return strconv.FormatUint(math.MaxUint64, 10)
	}
	return strconv.FormatFloat(x, 'f', 0, 64)
}

// pythonFloat converts the shortest text of a number, with an exponent, to Python's form.
func pythonFloat(shortest string, x float64) string {
	switch {
	case math.IsNaN(x):
		return "nan"
	case math.IsInf(x, 0):
		return infinity(int(math.Copysign(1, x)))
	}
	if a := math.Abs(x); a != 0 && (a < 1e-4 || a >= 1e16) {
		return shortest
	}
	mantissa, exponent, _ := strings.Cut(shortest, "e")
	e, _ := strconv.Atoi(exponent)
	digits := len(strings.TrimPrefix(strings.ReplaceAll(mantissa, ".", ""), "-"))
	text := strconv.FormatFloat(mustFloat(shortest), 'f', max(0, digits-1-e), 64)
	if !strings.Contains(text, ".") {
		text += ".0"
	}
	return text
}

// mustFloat parses a number formatted by strconv.
func mustFloat(text string) float64 {
	x, err := strconv.ParseFloat(text, 64)
	if err != nil {
		panic(err)
	}
	return x
}

// halfText returns the shortest text that parses to the same float16.
func halfText(x float64) string {
	want := nearestHalf(x)
	if math.IsInf(want, 0) || math.IsNaN(want) {
		return pythonFloat("", want)
	}
	const up = 1 + 1e-9 // rounds a digit followed by exactly 5 up
	for digits := 0; ; digits++ {
		for _, near := range []float64{want, want * up} {
			text := strconv.FormatFloat(near, 'e', digits, 64)
			if nearestHalf(mustFloat(text)) == want {
				return pythonFloat(text, want)
			}
		}
	}
}

// nearestHalf rounds to the nearest float16, ties to even.
func nearestHalf(x float64) float64 {
	a := math.Abs(x)
	switch {
	case a == 0 || math.IsNaN(x) || math.IsInf(x, 0):
		return x
	case a >= 65520:
		return math.Inf(int(math.Copysign(1, x)))
	}
	_, exp := math.Frexp(a)
	ulp := math.Ldexp(1, max(exp-11, -24))
	return math.RoundToEven(x/ulp) * ulp
}
