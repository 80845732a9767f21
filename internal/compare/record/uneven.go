package record

import "dumptool/internal/compare/metrics"

// Unevenness is an axis along which the errors of a pair are clearly uneven.
type Unevenness struct {
	Axis int   `json:"axis"`
	Size int64 `json:"size"`
	// From and To bound the bad run of positions: [From, To).
	From int64 `json:"from"`
	To   int64 `json:"to"`
	// Half is the mean |d| of the worse half over that of the better one, Peak that
	// of the worst position over the median one; infinite where there is no |d| in the
	// others. RelHalf and RelPeak are the same of the relative errors.
	Half    metrics.Float `json:"half"`
	Peak    metrics.Float `json:"peak"`
	RelHalf metrics.Float `json:"rel_half"`
	RelPeak metrics.Float `json:"rel_peak"`
	// Counted is set where most errors are NaN and infinities, which have no magnitude:
	// the ratios are those of the error rates.
	Counted bool `json:"counted,omitempty"`
}
