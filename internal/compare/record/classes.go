package record

import "dumptool/internal/compare/metrics"

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

// classes are the numbers of classKeys and behind them that of all pairs of two classes,
// undefined in rows that were not compared.
type classes []metrics.Metric

func newClasses() classes { return make(classes, len(classKeys)+1) }

func (c classes) members() object {
	o := make(object, 0, len(c))
	for i := range classKeys {
		o = append(o, member{classKeys[i].key, &c[i]})
	}
	return append(o, member{"class_mismatch", &c[len(classKeys)]})
}

// put adds up the classes of a result.
func (c classes) put(r *metrics.Result) {
	for i := range classKeys {
		var sum int64
		for _, cell := range classKeys[i].cells {
			sum += r.Classes[cell[0]][cell[1]]
		}
		c[i] = countOf(sum)
	}
	c[len(classKeys)] = countOf(r.Mismatch.Count)
}

// take sets the classes of a result; the sum of several cells is in the first.
func (c classes) take(r *metrics.Result) (err error) {
	for i := range classKeys {
		first := classKeys[i].cells[0]
		if r.Classes[first[0]][first[1]], err = asCount(c[i]); err != nil {
			return err
		}
	}
	r.Mismatch.Count, err = asCount(c[len(classKeys)])
	return err
}
