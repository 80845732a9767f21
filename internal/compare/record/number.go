package record

import "dumptool/internal/compare/metrics"

// NumberOf returns a defined number.
func NumberOf(x float64) metrics.Metric { return metrics.Metric{Value: x, Defined: true} }

// definedUnlessNaN is a difference, which is NaN where it is undefined.
func definedUnlessNaN(x float64) metrics.Metric { return metrics.Metric{Value: x, Defined: x == x} }

// excerpt is the beginning of a text, for messages.
func excerpt(data []byte) string {
	const most = 40
	if len(data) > most {
		return string(data[:most]) + "..."
	}
	return string(data)
}
