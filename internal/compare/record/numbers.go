package record

import (
	"encoding/json"
	"fmt"

	"dumptool/internal/compare/metrics"
)

// kldKey is the metric that says nothing about a pair with a constant side.
const kldKey = "kld"

// metricsJSON are all metrics of a result by name; all are null in a row that was not
// compared, which has none.
type metricsJSON struct {
	*metrics.Result
	read bool
}

// MarshalJSON implements json.Marshaler.
func (j *metricsJSON) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for i := range metrics.Table {
		m := &metrics.Table[i]
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(append(b, '"'), m.Name...), `":`...)
		var n metrics.Metric
		if j.Result != nil && !(m.Name == kldKey && constant(j.Result)) {
			n = m.Of(j.Result)
		}
		b = n.AppendJSON(b)
	}
	return append(b, '}'), nil
}

// UnmarshalJSON implements json.Unmarshaler. Metrics that are not there are undefined; keys
// that are unknown are left out.
func (j *metricsJSON) UnmarshalJSON(object []byte) error {
	values := map[string]metrics.Metric{}
	if err := json.Unmarshal(object, &values); err != nil {
		return err
	}
	for i := range metrics.Table {
		m := &metrics.Table[i]
		if n := values[m.Name]; !m.Set(j.Result, n) {
			return fmt.Errorf("metrics.%s: %s is no count of elements", m.Name, n)
		}
	}
	j.read = true
	return nil
}

// constant reports whether a side of a pair is constant.
func constant(r *metrics.Result) bool {
	return r.Ref.Min.Defined && (r.Ref.Min == r.Ref.Max || r.NPU.Min == r.NPU.Max)
}

// NumberOf returns a defined number.
func NumberOf(x float64) metrics.Metric { return metrics.Metric{Value: x, Defined: true} }

// definedUnlessNaN is a difference, which is NaN where it is undefined.
func definedUnlessNaN(x float64) metrics.Metric { return metrics.Metric{Value: x, Defined: x == x} }

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
