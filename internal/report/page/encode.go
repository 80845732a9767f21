package page

import (
	"encoding/json"
	"math"
	"strconv"

	"dumptool/internal/compare/metrics"
	"dumptool/internal/lang"
)

// number is a number that may be undefined.
type number = metrics.Metric

// numbers are a list of numbers of four digits: null where undefined, and the words
// "nan", "inf" and "-inf".
type numbers []number

// shownDigits is the number of digits of a number in the page.
const shownDigits = 4

// MarshalJSON implements json.Marshaler.
func (n numbers) MarshalJSON() ([]byte, error) {
	b := make([]byte, 0, 8*len(n)+2)
	b = append(b, '[')
	for i, x := range n {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendNumber(b, x)
	}
	return append(b, ']'), nil
}

func appendNumber(b []byte, x number) []byte {
	switch {
	case !x.Defined:
		return append(b, "null"...)
	case math.IsNaN(x.Value):
		return append(b, `"nan"`...)
	case math.IsInf(x.Value, 1):
		return append(b, `"inf"`...)
	case math.IsInf(x.Value, -1):
		return append(b, `"-inf"`...)
	}
	return strconv.AppendFloat(b, x.Value, 'g', shownDigits, 64)
}

// of is a number that is defined.
func of(x float64) number { return number{Value: x, Defined: true} }

// named are numbers by name, without those that are undefined.
type named struct {
	names  []string
	values numbers
}

func (n *named) add(name string, x number) {
	if x.Defined {
		n.names, n.values = append(n.names, name), append(n.values, x)
	}
}

// MarshalJSON implements json.Marshaler.
func (n named) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for i, name := range n.names {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(strconv.AppendQuote(b, name), ':')
		b = appendNumber(b, n.values[i])
	}
	return append(b, '}'), nil
}

// MarshalJSON implements json.Marshaler.
func (t text) MarshalJSON() ([]byte, error) {
	if t.EN == t.ZH {
		return json.Marshal(t.EN)
	}
	return json.Marshal(lang.Text(t))
}

// texts is a column of texts of which many are the same: a table, and an index into
// it for every row.
type texts struct {
	Table []string `json:"table"`
	At    []int    `json:"at"`
	index map[string]int
}

func (s *texts) add(text string) {
	i, ok := s.index[text]
	if !ok {
		if s.index == nil {
			s.index = map[string]int{}
		}
		i = len(s.Table)
		s.index[text] = i
		s.Table = append(s.Table, text)
	}
	s.At = append(s.At, i)
}
