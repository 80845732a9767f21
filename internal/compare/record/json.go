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
// is written as an empty one. Behind the key may stand what is done about its default:
//
//	omitempty    left out wherever it is zero or an empty list
//	like=OTHER   the default is the value of another key of the object
//	null         the default is null alone
//	always       written always
//
// Any other key has zero as its default: 0, null, "", false or an empty list. A slim object
// is without the keys that have their default; a whole one has them all.
type member struct {
	key string
	at  any
}

// What may stand behind a key.
const (
	omitEmpty = "omitempty"
	nullAlone = "null"
	always    = "always"
	likeOther = "like="
)

// name is the key in the document, rule what stands behind it.
func (m *member) name() string { name, _, _ := strings.Cut(m.key, ","); return name }
func (m *member) rule() string { _, rule, _ := strings.Cut(m.key, ","); return rule }

// like is the key whose value is the default, empty for none.
func (m *member) like() string {
	if other, ok := strings.CutPrefix(m.rule(), likeOther); ok {
		return other
	}
	return ""
}

// streamed is a value that reads itself piece by piece.
type streamed interface {
	read(in *jsonpos.Reader) error
}

// MarshalJSON implements json.Marshaler.
func (o object) MarshalJSON() ([]byte, error) { return o.append(nil, false) }

// append implements thin.
func (o object) append(b []byte, slim bool) (_ []byte, err error) {
	b = append(b, '{')
	first := len(b)
	for i := range o {
		m := &o[i]
		name, rule, _ := strings.Cut(m.key, ",")
		if o.leftOut(m, rule, slim) {
			continue
		}
		start := len(b)
		if start > first {
			b = append(b, ',')
		}
		b = append(append(append(b, '"'), name...), `":`...)
		text := len(b)
		v := reflect.ValueOf(m.at)
		if list := reflect.Indirect(v); list.Kind() == reflect.Slice && list.Len() == 0 {
			b = append(b, "[]"...)
		} else if b, err = appendValue(b, v, slim); err != nil {
			return b, err
		}
		if slim && rule != nullAlone && string(b[text:]) == "{}" { // all of it is the default
			b = b[:start]
		}
	}
	return append(b, '}'), nil
}

// leftOut reports whether a key is left out, by what stands behind it.
func (o object) leftOut(m *member, rule string, slim bool) bool {
	value := reflect.Indirect(reflect.ValueOf(m.at))
	switch {
	case rule == omitEmpty:
		if z, ok := m.at.(interface{ IsZero() bool }); ok {
			return z.IsZero()
		}
		return isEmpty(value)
	case !slim || rule == always:
		return false
	}
	if other, ok := strings.CutPrefix(rule, likeOther); ok {
		value = deepest(m.at)
		return value.Kind() == reflect.Pointer || same(value, deepest(o[o.index(other, 0)].at))
	}
	return isDefault(value, rule)
}

// same reports whether two texts or two lists of whole numbers are the same.
func same(a, b reflect.Value) bool {
	if a.Kind() == reflect.String || b.Kind() != reflect.Slice {
		return a.String() == b.String()
	}
	if a.Len() != b.Len() || a.IsNil() != b.IsNil() {
		return false
	}
	for i := range a.Len() {
		if a.Index(i).Int() != b.Index(i).Int() {
			return false
		}
	}
	return true
}

// deepest is what pointers point to: a nil pointer where one of them is.
func deepest(at any) reflect.Value {
	value := reflect.ValueOf(at)
	for value.Kind() == reflect.Pointer && !value.IsNil() {
		value = value.Elem()
	}
	return value
}

// read implements streamed. Keys that are not known are passed over, and so is null.
func (o object) read(in *jsonpos.Reader) error {
	_, err := o.readKeys(in)
	return err
}

// readKeys reads the object and says which of its keys were there.
func (o object) readKeys(in *jsonpos.Reader) (seen []bool, err error) {
	seen, last := make([]bool, len(o)), 0
	return seen, in.Object(func(key string) error {
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

// fill gives the keys that were not there and are like others their values.
func (o object) fill(seen []bool) {
	for i := range o {
		if other := o[i].like(); other != "" && !seen[i] {
			to, from := deepest(o[i].at), deepest(o[o.index(other, 0)].at)
			if to.Kind() == reflect.Pointer { // to nothing
				to.Set(reflect.New(to.Type().Elem()))
				to = to.Elem()
			}
			to.Set(from.Convert(to.Type()))
		}
	}
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
// compared, which has none. In a slim row, which they may be read of, those that have their
// default are left out.
type metricsJSON struct {
	*metrics.Result
	isRead, ofSlim bool
}

// MarshalJSON implements json.Marshaler.
func (j *metricsJSON) MarshalJSON() ([]byte, error) { return j.append(nil, false) }

// append implements thin.
func (j *metricsJSON) append(b []byte, slim bool) ([]byte, error) {
	b = append(b, '{')
	if slim && j.Result == nil {
		return append(b, '}'), nil
	}
	first := len(b)
	for i := range metrics.Table {
		m, n := &metrics.Table[i], metrics.Metric{}
		if j.Result != nil && !(m.Name == kldKey && constant(j.Result)) {
			n = m.Of(j.Result)
		}
		switch {
		case slim && sameNumber(n, m.DefaultOf(j.Result)):
			continue
		case slim && n.Defined():
			n = m.Brief(j.Result)
		}
		if len(b) > first {
			b = append(b, ',')
		}
		b = append(append(append(b, '"'), m.Name...), `":`...)
		b = n.AppendJSON(b)
	}
	return append(b, '}'), nil
}

// read implements streamed. Metrics that are not there are undefined, or have their default
// in a slim row; keys that are unknown are left out.
func (j *metricsJSON) read(in *jsonpos.Reader) error {
	values, last := make([]readMetric, len(metrics.Table)), 0
	err := in.Object(func(key string) error {
		i := metricIndex(key, last)
		if i < 0 {
			return in.Skip()
		}
		if values[i].said {
			return in.Failed(lang.Errorf("key %q stands twice", key))
		}
		values[i].said, last = true, i
		return in.Decode(&values[i].Metric)
	})
	if err != nil {
		return err
	}
	return j.take(values)
}

// take sets the metrics of the table.
func (j *metricsJSON) take(values []readMetric) error {
	for _, after := range []bool{false, true} {
		for i := range metrics.Table {
			m, n := &metrics.Table[i], values[i].Metric
			switch said := values[i].said; {
			case after != (j.ofSlim && m.Follows(said)):
				continue
			case j.ofSlim && said:
				n = m.Exact(j.Result, n)
			case j.ofSlim:
				n = m.DefaultOf(j.Result)
			}
			if !m.Set(j.Result, n) {
				return lang.Errorf("metrics.%s: %s is no count of elements", m.Name, n)
			}
		}
	}
	j.isRead = true
	return nil
}

// readMetric is a metric of a document, and whether it says it.
type readMetric struct {
	metrics.Metric
	said bool
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

// sameNumber reports whether two numbers are the same in a document.
func sameNumber(a, b metrics.Metric) bool {
	return a == b || a.Value() != a.Value() && b.Value() != b.Value()
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
	o[0].key += "," + nullAlone // it is mostly all of them
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
