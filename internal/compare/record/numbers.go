package record

import (
	"encoding/json"
	"fmt"

	"dumptool/internal/compare/metrics"
)

// kldKey is the metric that says nothing about a pair with a constant side.
const kldKey = "kld"

// appendMetrics appends the object of all metrics to JSON; all are null in a row
// that was not compared.
func appendMetrics(b []byte, r *metrics.Result) []byte {
	b = append(b, '{')
	for i := range metrics.Table {
		m := &metrics.Table[i]
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(append(b, '"'), m.Name...), `":`...)
		var n metrics.Metric
		if r != nil && !(m.Name == kldKey && constant(r)) {
			n = m.Of(r)
		}
		b = n.AppendJSON(b)
	}
	return append(b, '}')
}

// constant reports whether a side of a pair is constant.
func constant(r *metrics.Result) bool {
	return r.Ref.Min.Defined && (r.Ref.Min == r.Ref.Max || r.NPU.Min == r.NPU.Max)
}

// setMetrics sets the metrics of an object. Those that it does not have are
// undefined; keys that are unknown are left out.
func setMetrics(r *metrics.Result, object json.RawMessage) error {
	values := map[string]metrics.Metric{}
	if err := json.Unmarshal(object, &values); err != nil {
		return err
	}
	for i := range metrics.Table {
		m := &metrics.Table[i]
		if n := values[m.Name]; !m.Set(r, n) {
			return fmt.Errorf("metrics.%s: %s is no count of elements", m.Name, n)
		}
	}
	return nil
}

// countOf is a count as a number; elements that fit in memory or on a disk are
// far fewer than float64 can count.
func countOf(n int64) metrics.Metric { return NumberOf(float64(n)) }

// asCount is a number as a count, 0 where it is undefined.
func asCount(m metrics.Metric) (int64, error) {
	if n := int64(m.Value); n >= 0 && n < 1<<53 && float64(n) == m.Value {
		return n, nil
	}
	return 0, fmt.Errorf("%s is no count of elements", m)
}
