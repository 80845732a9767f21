package record

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"

	"dumptool/internal/compare/metrics"
	"dumptool/internal/jsonpos"
	"dumptool/internal/lang"
)

// object is an object of compare.json: its keys in their order, each with where its value
// is. One list says what is written and what is read. Struct tags cannot: the document has
// facts, verdicts and what follows from both between each other.
type object []member

// member is a key and a pointer to its value, or the object that is its value. A nil list
// is written as an empty one. A key with ",omitempty" behind it is left out wherever its
// value is zero or an empty list.
type member struct {
	key string
	at  any
}

// omitEmpty may stand behind a key.
const omitEmpty = "omitempty"

// name is the key in the document.
func (m *member) name() string { name, _, _ := strings.Cut(m.key, ","); return name }

// isLeftOut reports whether the key is left out.
func (m *member) isLeftOut() bool {
	if !strings.HasSuffix(m.key, ","+omitEmpty) {
		return false
	}
	if z, ok := m.at.(interface{ IsZero() bool }); ok {
		return z.IsZero()
	}
	return isEmpty(reflect.Indirect(reflect.ValueOf(m.at)))
}

// streamed is a value that reads itself piece by piece.
type streamed interface {
	read(in *jsonpos.Reader) error
}

// MarshalJSON implements json.Marshaler.
func (o object) MarshalJSON() ([]byte, error) { return o.append(nil) }

// append appends the object to JSON.
func (o object) append(b []byte) (_ []byte, err error) {
	b = append(b, '{')
	first := len(b)
	for i := range o {
		m := &o[i]
		if m.isLeftOut() {
			continue
		}
		if len(b) > first {
			b = append(b, ',')
		}
		b = append(append(append(b, '"'), m.name()...), `":`...)
		v := reflect.ValueOf(m.at)
		if list := reflect.Indirect(v); list.Kind() == reflect.Slice && list.Len() == 0 {
			b = append(b, "[]"...)
		} else if b, err = appendValue(b, v); err != nil {
			return b, err
		}
	}
	return append(b, '}'), nil
}

// read implements streamed. Keys that are not known are passed over, and so is null.
func (o object) read(in *jsonpos.Reader) error {
	seen, last := make([]bool, len(o)), 0
	return in.Object(func(key string) error {
		i := o.index(strings.ToLower(key), last)
		if i < 0 {
			return in.Skip()
		}
		if seen[i] {
			return in.Failed(lang.Errorf("key %q stands twice", o[i].name()))
		}
		seen[i], last = true, i
		if in.Kind() == jsonpos.Null {
			return in.Skip()
		}
		if value, ok := o[i].at.(streamed); ok {
			return value.read(in)
		}
		return in.Decode(o[i].at)
	})
}

// index is the place of a key, -1 for none. The search begins at some place: keys mostly
// come in their order.
func (o object) index(key string, from int) int {
	for k := range o {
		if i := (from + k) % len(o); o[i].name() == key {
			return i
		}
	}
	return -1
}

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

// metricsJSON are all metrics of a result by name; all are null in a row that was not
// compared, which has none.
type metricsJSON struct{ *metrics.Result }

// MarshalJSON implements json.Marshaler.
func (j *metricsJSON) MarshalJSON() ([]byte, error) { return j.AppendJSON(nil), nil }

// AppendJSON appends the metrics to JSON.
func (j *metricsJSON) AppendJSON(b []byte) []byte {
	b = append(b, '{')
	for i := range metrics.Table {
		m, n := &metrics.Table[i], metrics.Metric{}
		if j.Result != nil && !(m.Name == kldKey && constant(j.Result)) {
			n = m.Of(j.Result)
		}
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(append(b, '"'), m.Name...), `":`...)
		b = n.AppendJSON(b)
	}
	return append(b, '}')
}

// read implements streamed. Metrics that are not there are undefined; keys that are unknown
// are passed over.
func (j *metricsJSON) read(in *jsonpos.Reader) error {
	seen, last := make([]bool, len(metrics.Table)), 0
	return in.Object(func(key string) error {
		i := metricIndex(key, last)
		if i < 0 {
			return in.Skip()
		}
		if seen[i] {
			return in.Failed(lang.Errorf("key %q stands twice", key))
		}
		seen[i], last = true, i
		m, n := &metrics.Table[i], metrics.Metric{}
		if err := in.Decode(&n); err != nil {
			return err
		}
		if !m.Set(j.Result, n) {
			return lang.Errorf("metrics.%s: %s is no count of elements", m.Name, n)
		}
		return nil
	})
}

// metricIndex is the place of a metric in the table, -1 for none. The search begins at some
// place: metrics mostly come in their order.
func metricIndex(name string, from int) int {
	for k := range metrics.Table {
		if i := (from + k) % len(metrics.Table); metrics.Table[i].Name == name {
			return i
		}
	}
	return -1
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
			return lang.Errorf("classes.%s: %w", classKeys[i].key, err)
		}
	}
	if r.Mismatch.Count, err = asCount(c[len(classKeys)]); err != nil {
		return lang.Errorf("classes.%s: %w", "class_mismatch", err)
	}
	return nil
}
