package record

import "dumptool/internal/compare/metrics"

// Standard is what an acceptance standard of single operators says of a row. See
// package standard for the rules.
type Standard struct {
	// Name is that of the standard, Rule what it has for such a tensor: float, move,
	// integer or quantise. Type is the element type whose thresholds are used.
	Name      string    `json:"name"`
	Rule      string    `json:"rule"`
	Type      string    `json:"type"`
	Status    Status    `json:"status"`
	NonFinite NonFinite `json:"non_finite"`
	Checks    []Check   `json:"checks"`
}

// NonFinite counts the elements that are not finite on a side: right ones, wrong ones,
// and those of which all sides differ.
type NonFinite struct {
	Right   int64 `json:"right"`
	Wrong   int64 `json:"wrong"`
	Unclear int64 `json:"unclear"`
}

// Check is a number that a standard limits.
type Check struct {
	Name  string        `json:"name"`
	Value metrics.Float `json:"value"`
	// Relation is how the value stands to the limit in a tensor that passes: <, <= or
	// >=.
	Relation string        `json:"relation"`
	Limit    metrics.Float `json:"limit"`
	// NPU and Third are the errors of both sides where the value is their ratio.
	NPU   metrics.Metric `json:"npu"`
	Third metrics.Metric `json:"third"`
	Holds bool           `json:"holds"`
}
