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
	// Formula is what the metric is, in the notation of the package: n and r are
	// the elements of the NPU and of the reference at the same place, d = n - r,
	// over the pairs that are finite on both sides unless it says otherwise.
	Formula string
	// Source names where the formula comes from, if others define it.
	Source string
	// In says which reports show the metric, and where. compare.json has all.
	In Columns
	// Undefined reports whether the metric means nothing for a pair of element
	// types; nil where it is defined for all of them.
	Undefined func(ref, npu tensor.DType) bool
	// at is where a result holds the metric: a *Metric, a *float64 that is always
	// defined, an *int64 that counts, or the *Extreme whose offset it is.
	at func(r *Result) any
}

// Of returns the metric of a result; it is undefined for types that have none.
func (d *Definition) Of(r *Result) Metric {
	if d.Undefined != nil && d.Undefined(r.RefDType, r.NPUDType) {
		return Metric{}
	}
	switch at := d.at(r).(type) {
	case *Metric:
		return *at
	case *int64:
		return count(*at)
	case *Extreme:
		return at.place()
	case *float64:
		return NumberOf(*at)
	}
	panic("metrics: " + d.Name + " is nowhere in a result")
}

// Set sets the metric of a result, which is how a result is read from a file. An
// undefined count is 0; it reports whether m is a count where that is wanted.
func (d *Definition) Set(r *Result, m Metric) bool {
	n := int64(m.Value())
	whole := n >= 0 && n <= maxCount && float64(n) == m.Value()
	switch at := d.at(r).(type) {
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

// maxCount is the largest count that all counts below it are different numbers.
const maxCount = 1 << 53

// Unit is the unit of a metric.
type Unit string

// The units.
const (
	UnitElement Unit = "element"  // that of the elements
	UnitSquared Unit = "element2" // the square of that
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

// The reports.
const (
	HPAATable    Report = iota // the columns of HPAA in cpu_vs_npu.csv
	Successor                  // the column of HPAA's successor
	ExtraColumns               // further columns of cpu_vs_npu.csv
	JUnit                      // properties of a test case
	Detail                     // the table of metrics of compare-detail
	Sides                      // its table of both sides: a row a title
)

// Columns are the places of a metric in reports.
type Columns map[Report]Column

// Column is the place of a metric among those of a report, and its title there.
type Column struct {
	Place int
	Title string
}

// Shown is a metric that a report shows.
type Shown struct {
	Title string
	*Definition
}

// ShownIn returns the metrics that a report shows, in its order.
func ShownIn(report Report) (shown []Shown) {
	for i := range Table {
		if c, ok := Table[i].In[report]; ok {
			shown = append(shown, Shown{c.Title, &Table[i]})
		}
	}
	slices.SortStableFunc(shown, func(a, b Shown) int { return cmp.Compare(a.In[report].Place, b.In[report].Place) })
	return shown
}

// Index returns the index of a metric in the table, -1 if there is none of that
// name.
func Index(name string) int {
	return slices.IndexFunc(Table, func(d Definition) bool { return d.Name == name })
}

// The sources of formulas.
const (
	hpaaManual = "HPAA manual, cpu_vs_npu.csv: NaN counts as 0, an infinity as the largest finite value of the NPU's type"
	msaccucmp  = "msaccucmp"
	chan1979   = "Chan, Golub, LeVeque: Updating Formulae and a Pairwise Algorithm for Computing Sample Variances"
)

// count is a number of elements as a metric; a disk holds far fewer than float64
// can count.
func count(n int64) Metric { return NumberOf(float64(n)) }

// place is the offset of an extreme as a metric.
func (e *Extreme) place() Metric { return NumberIf(float64(e.Offset), e.Defined()) }

// complexPair reports whether a side is complex.
func complexPair(ref, npu tensor.DType) bool { return ref.Host().Complex() || npu.Host().Complex() }
