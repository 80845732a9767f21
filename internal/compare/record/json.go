package record

import (
	"bytes"
	"encoding/json"

	"dumptool/internal/compare/metrics"
	"dumptool/internal/jsonpos"
	"dumptool/internal/lang"
)

// marshal is a value in JSON, without escapes for HTML.
func marshal(v any, indent string) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", indent)
	err := enc.Encode(v)
	return jsonpos.Visible(bytes.TrimSuffix(b.Bytes(), []byte("\n"))), err
}

// kldKey is the metric that says nothing about a pair with a constant side.
const kldKey = "kld"

// metricsOf are all metrics of a result by name, undefined without a result.
func metricsOf(r *metrics.Result) map[string]metrics.Metric {
	all := make(map[string]metrics.Metric, len(metrics.Table))
	for i := range metrics.Table {
		m, n := &metrics.Table[i], metrics.Metric{}
		if r != nil && !(m.Name == kldKey && constant(r)) {
			n = m.Of(r)
		}
		all[m.Name] = n
	}
	return all
}

// setMetrics sets the metrics of a result. A metric that is missing is undefined.
func setMetrics(r *metrics.Result, all map[string]metrics.Metric) error {
	for i := range metrics.Table {
		if m := &metrics.Table[i]; !m.Set(r, all[m.Name]) {
			return lang.Errorf("metrics.%s: %s is no count of elements", m.Name, all[m.Name])
		}
	}
	return nil
}

// constant reports whether a side of a pair is constant.
func constant(r *metrics.Result) bool {
	return r.Ref.Min.Defined() && (r.Ref.Min.Value() == r.Ref.Max.Value() || r.NPU.Min.Value() == r.NPU.Max.Value())
}

// definedUnlessNaN is a difference, which is NaN where it is undefined.
func definedUnlessNaN(x float64) metrics.Metric { return metrics.NumberIf(x, x == x) }

// countOf is a count as a number; elements that fit in memory or on a disk are
// far fewer than float64 can count.
func countOf(n int64) metrics.Metric { return metrics.NumberOf(float64(n)) }

// asCount is a number as a count, 0 where it is undefined.
func asCount(m metrics.Metric) (int64, error) {
	if n := int64(m.Value()); n >= 0 && n < 1<<53 && float64(n) == m.Value() {
		return n, nil
	}
	return 0, lang.Errorf("%s is no count of elements", m)
}

// Short names of the classes.
const (
	finite, posInf = metrics.Finite, metrics.PosInf
	negInf, nan    = metrics.NegInf, metrics.NaN
)

// classKeys are the numbers of pairs by class, the NPU's element first: of nan_vs_finite
// the NPU's is NaN. Each adds up some cells of metrics.Classes.
var classKeys = []struct {
	key   string
	cells [][2]metrics.Class
}{
	{"both_finite", [][2]metrics.Class{{finite, finite}}},
	{"nan_both", [][2]metrics.Class{{nan, nan}}},
	{"inf_equal", [][2]metrics.Class{{posInf, posInf}, {negInf, negInf}}},
	{"inf_opposite", [][2]metrics.Class{{posInf, negInf}, {negInf, posInf}}},
	{"nan_vs_finite", [][2]metrics.Class{{nan, finite}}},
	{"finite_vs_nan", [][2]metrics.Class{{finite, nan}}},
	{"inf_vs_finite", [][2]metrics.Class{{posInf, finite}, {negInf, finite}}},
	{"finite_vs_inf", [][2]metrics.Class{{finite, posInf}, {finite, negInf}}},
	{"nan_vs_inf", [][2]metrics.Class{{nan, posInf}, {nan, negInf}}},
	{"inf_vs_nan", [][2]metrics.Class{{posInf, nan}, {negInf, nan}}},
}

// mismatchKey is the key of the number of all pairs of two classes, beside classKeys.
const mismatchKey = "class_mismatch"

// classesOf are the numbers of pairs by class, undefined without a result.
func classesOf(r *metrics.Result) map[string]metrics.Metric {
	all := map[string]metrics.Metric{mismatchKey: {}}
	for i := range classKeys {
		all[classKeys[i].key] = metrics.Metric{}
	}
	if r == nil {
		return all
	}
	for _, class := range classKeys {
		var sum int64
		for _, cell := range class.cells {
			sum += r.Classes[cell[0]][cell[1]]
		}
		all[class.key] = countOf(sum)
	}
	all[mismatchKey] = countOf(r.Mismatch.Count)
	return all
}

// setClasses sets the classes of a result; the first cell gets the sum of several.
func setClasses(r *metrics.Result, all map[string]metrics.Metric) (err error) {
	for _, class := range classKeys {
		first := class.cells[0]
		if r.Classes[first[0]][first[1]], err = asCount(all[class.key]); err != nil {
			return lang.Errorf("classes.%s: %w", class.key, err)
		}
	}
	if r.Mismatch.Count, err = asCount(all[mismatchKey]); err != nil {
		return lang.Errorf("classes.%s: %w", mismatchKey, err)
	}
	return nil
}
