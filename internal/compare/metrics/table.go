package metrics

import (
	"cmp"
	"slices"

	"dumptool/internal/tensor"
)

// Definition describes one metric of a pair of tensors.
type Definition struct {
	// Name is the key of the metric in compare.json.
	Name string
	Unit Unit
	// Formula defines the metric in the notation of the package: n and r are the elements of the
	// NPU and of the reference at the same place, d = n - r, over the pairs that are finite on
	// both sides unless it says otherwise.
	Formula string
	// Source names the origin of the formula, if others define it.
	Source string
	// In has the reports that show the metric, with its place there. compare.json has all metrics.
	In Columns
	// Undefined reports whether the metric is meaningless for a pair of element types; nil if it
	// is defined for all types.
	Undefined func(ref, npu tensor.DType) bool
	// field returns the field of a result: a *Metric, a *float64 (always defined), an *int64 count, or an *Extreme,
	// whose offset is the metric.
	field func(r *Result) any
}

// MetricOf returns the metric of a result; undefined if Undefined is true for its types.
func (d *Definition) MetricOf(r *Result) Metric {
	if d.Undefined != nil && d.Undefined(r.RefDType, r.NPUDType) {
		return Metric{}
	}
	switch at := d.field(r).(type) {
	case *Metric:
		return *at
	case *int64:
		return NumberOf(float64(*at)) // real counts are far below 2^53
	case *Extreme:
		return NumberIf(float64(at.Offset), at.IsDefined())
	case *float64:
		return NumberOf(*at)
	}
	panic("metrics: " + d.Name + " is nowhere in a result")
}

// Set sets the metric of a result; readers of files use it. An undefined count is 0. It
// returns false if the field is a count and m is not a count.
func (d *Definition) Set(r *Result, m Metric) bool {
	n := int64(m.Value())
	whole := n >= 0 && n <= maxCount && float64(n) == m.Value()
	switch at := d.field(r).(type) {
	case *Metric:
		*at = m
	case *float64:
		*at = m.Value()
	case *int64:
		*at = n
		return whole
	case *Extreme:
		at.Offset = n
		return whole
	}
	return true
}

// maxCount is the limit up to which float64 holds every count exactly.
const maxCount = 1 << 53

// Unit is the unit of a metric.
type Unit string

// The units.
const (
	UnitElement Unit = "element"  // the unit of the elements
	UnitSquared Unit = "element2" // its square
	UnitRatio   Unit = "ratio"
	UnitDecibel Unit = "dB"
	UnitULP     Unit = "ulp" // units in the last place of the NPU's type
	UnitCount   Unit = "count"
	UnitOffset  Unit = "offset" // of an element in C order
	UnitSigma   Unit = "sigma"  // standard deviations
	UnitNat     Unit = "nat"
)

// Report is a report that shows some of the metrics.
type Report uint8

// Values of Report.
const (
	HPAATable    Report = iota // the columns of HPAA in cpu_vs_npu.csv
	Successor                  // the column of HPAA's successor
	ExtraColumns               // further columns of cpu_vs_npu.csv
	JUnit                      // properties of a test case
	Detail                     // the metrics of compare-detail
	Sides                      // the statistics of both sides in compare-detail, a row for each title
)

// Columns has the column of a metric in each report.
type Columns map[Report]Column

// Column is the position of a metric among the metrics of a report, and its title.
type Column struct {
	Place int
	Title string
}

// TitledMetric is a metric with its title in a report.
type TitledMetric struct {
	Title string
	*Definition
}

// ReportMetrics returns the metrics of a report, in the order of the report.
func ReportMetrics(report Report) (shown []TitledMetric) {
	for i := range Table {
		if c, ok := Table[i].In[report]; ok {
			shown = append(shown, TitledMetric{c.Title, &Table[i]})
		}
	}
	slices.SortStableFunc(shown, func(a, b TitledMetric) int { return cmp.Compare(a.In[report].Place, b.In[report].Place) })
	return shown
}

// Index returns the index of the metric with this name in Table, -1 if there is none.
func Index(name string) int {
	return slices.IndexFunc(Table, func(d Definition) bool { return d.Name == name })
}

// The sources of formulas.
const (
	hpaaManual = "HPAA manual, cpu_vs_npu.csv: NaN counts as 0, an infinity as the largest finite value of the NPU's type"
	msaccucmp  = "msaccucmp"
	chan1979   = "Chan, Golub, LeVeque: Updating Formulae and a Pairwise Algorithm for Computing Sample Variances"
)

// isComplexPair reports whether a side is complex.
func isComplexPair(ref, npu tensor.DType) bool { return ref.Host().Complex() || npu.Host().Complex() }
