package record

import (
	"bytes"
	"encoding/json"

	"dumptool/internal/compare/metrics"
	"dumptool/internal/jsonpos"
	"dumptool/internal/lang"
)

// marshal encodes a value as JSON, without escapes for HTML.
func marshal(v any, indent string) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", indent)
	err := enc.Encode(v)
	return jsonpos.Visible(bytes.TrimSuffix(b.Bytes(), []byte("\n"))), err
}

// kldKey is the metric without a meaning for a pair with a constant side.
const kldKey = "kld"

// jsonMembers are the members of an object, in order.
type jsonMembers []number

type number struct {
	key   string
	value metrics.Metric
}

// MarshalJSON implements json.Marshaler.
func (n jsonMembers) MarshalJSON() ([]byte, error) {
	b := []byte("{")
	for i, x := range n {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(append(b, '"'), x.key...), `":`...)
		if x.value.IsDefined() {
			b = jsonpos.AppendNumber(b, x.value.Value())
		} else {
			b = append(b, "null"...)
		}
	}
	return append(b, '}'), nil
}

// read reads an object.
func (n *jsonMembers) read(in *jsonpos.Reader) error {
	*n = make(jsonMembers, 0, len(metrics.Table))
	return in.Object(func(key string) error {
		var x metrics.Metric
		err := in.Decode(&x)
		*n = append(*n, number{key, x})
		return err
	})
}

// get returns the number with a key, undefined if there is none.
func (n jsonMembers) get(key string) metrics.Metric {
	for i := range n {
		if n[i].key == key {
			return n[i].value
		}
	}
	return metrics.Metric{}
}

// metricsOf returns all metrics of a result, undefined without a result.
func metricsOf(r *metrics.Result) jsonMembers {
	all := make(jsonMembers, len(metrics.Table))
	for i := range metrics.Table {
		m := &metrics.Table[i]
		all[i].key = m.Name
		if r != nil && !(m.Name == kldKey && hasConstantSide(r)) {
			all[i].value = m.MetricOf(r)
		}
	}
	return all
}

// setMetrics sets the metrics of a result. A missing metric is undefined.
func setMetrics(r *metrics.Result, all jsonMembers) error {
	for i := range metrics.Table {
		m := &metrics.Table[i]
		if x := all.get(m.Name); !m.Set(r, x) {
			return lang.Errorf("metrics.%s: %s is no count of elements", m.Name, x)
		}
	}
	return nil
}

// hasConstantSide reports whether a side of a pair is constant.
func hasConstantSide(r *metrics.Result) bool {
	return r.Ref.Min.IsDefined() && (r.Ref.Min.Value() == r.Ref.Max.Value() || r.NPU.Min.Value() == r.NPU.Max.Value())
}

// definedUnlessNaN returns x as a metric, undefined if x is NaN.
func definedUnlessNaN(x float64) metrics.Metric { return metrics.NumberIf(x, x == x) }

// countOf converts a number to a count, 0 if undefined. Counts of elements that fit on a disk are exact in float64.
func countOf(m metrics.Metric) (int64, error) {
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

// classKeys are the keys of the numbers of pairs by class. The NPU's class comes first: in nan_vs_finite the NPU
// element is NaN. Each number is the sum of some cells of metrics.Classes.
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

// mismatchKey is the key of the number of pairs of two different classes.
const mismatchKey = "class_mismatch"

// classesOf returns the numbers of pairs by class, undefined without a result.
func classesOf(r *metrics.Result) jsonMembers {
	all := make(jsonMembers, 0, len(classKeys)+1)
	for _, class := range classKeys {
		var sum int64
		for _, cell := range class.cells {
			if r != nil {
				sum += r.Classes[cell[0]][cell[1]]
			}
		}
		all = append(all, number{class.key, metrics.NumberIf(float64(sum), r != nil)})
	}
	all = append(all, number{key: mismatchKey})
	if r != nil {
		all[len(classKeys)].value = metrics.NumberOf(float64(r.Mismatch.Count))
	}
	return all
}

// setClasses sets the classes of a result. If a key is the sum of several cells, the first cell gets the sum.
func setClasses(r *metrics.Result, all jsonMembers) (err error) {
	for _, class := range classKeys {
		first := class.cells[0]
		if r.Classes[first[0]][first[1]], err = countOf(all.get(class.key)); err != nil {
			return lang.Errorf("classes.%s: %w", class.key, err)
		}
	}
	if r.Mismatch.Count, err = countOf(all.get(mismatchKey)); err != nil {
		return lang.Errorf("classes.%s: %w", mismatchKey, err)
	}
	return nil
}
