package finding

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"

	"dumptool/internal/jsonpos"
	"dumptool/internal/lang"
)

// Facts holds the numbers of a finding by name, for programs; the evidence says the same in words.
// In JSON they are an object.
type Facts []Fact

// Fact is a number, a list of integers, or a boolean, as JSON text.
type Fact struct{ Name, value string }

// Names of facts that are indexes of rows.
const (
	InputRow = "input"
	OtherRow = "row"
)

// Int adds an integer.
func (f Facts) Int(name string, n int64) Facts {
	return append(slices.Clip(f), Fact{name, strconv.FormatInt(n, 10)})
}

// Number adds a number with all its digits.
func (f Facts) Number(name string, x float64) Facts {
	return append(slices.Clip(f), Fact{name, string(jsonpos.AppendNumber(nil, x))})
}

// Flag adds a boolean.
func (f Facts) Flag(name string, is bool) Facts {
	return append(slices.Clip(f), Fact{name, strconv.FormatBool(is)})
}

// List adds a list of integers.
func (f Facts) List(name string, all []int) Facts {
	text, err := json.Marshal(append([]int{}, all...))
	if err != nil {
		return f
	}
	return append(slices.Clip(f), Fact{name, string(text)})
}

// Equal reports whether the facts are equal, in the same order.
func (f Facts) Equal(g Facts) bool { return slices.Equal(f, g) }

// Get returns a number; ok is false if there is none with that name.
func (f Facts) Get(name string) (x float64, ok bool) {
	for _, fact := range f {
		if fact.Name == name {
			x, err := jsonpos.ParseNumber([]byte(fact.value))
			return x, err == nil
		}
	}
	return 0, false
}

// Shift returns facts whose row indexes are increased by rows.
func (f Facts) Shift(rows int) Facts { return f.Renumbered(func(i int) int { return i + rows }) }

// Renumbered returns facts with row indexes mapped by place, without facts whose new index is negative.
func (f Facts) Renumbered(place func(int) int) Facts {
	moved := slices.Clone(f)[:0]
	for _, fact := range f {
		if fact.Name == InputRow || fact.Name == OtherRow {
			if n, err := strconv.Atoi(fact.value); err == nil {
				if n = place(n); n < 0 {
					continue
				}
				fact.value = strconv.Itoa(n)
			}
		}
		moved = append(moved, fact)
	}
	return moved
}

// Rows returns the row indexes in the facts, -1 for other numbers.
func (f Facts) Rows() (rows []int) {
	for _, name := range []string{InputRow, OtherRow} {
		if x, ok := f.Get(name); ok {
			if n := int(x); float64(n) == x {
				rows = append(rows, n)
			} else {
				rows = append(rows, -1)
			}
		}
	}
	return rows
}

// MarshalJSON implements json.Marshaler: an object with its keys in the order of the facts.
func (f Facts) MarshalJSON() ([]byte, error) {
	b := []byte("{")
	for i, fact := range f {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(append(b, jsonpos.Marshal(fact.Name, "")...), ':'), fact.value...)
	}
	return append(b, '}'), nil
}

const (
	mostFacts = 64 // limit of the facts of a finding in a document
	shownName = 40 // characters of a name in an error
)

// UnmarshalJSON implements json.Unmarshaler.
func (f *Facts) UnmarshalJSON(data []byte) error {
	*f = nil
	if string(data) == "null" {
		return nil
	}
	in := jsonpos.ReaderOf(data)
	return in.Object(func(name string) error {
		var value json.RawMessage
		if err := in.Decode(&value); err != nil {
			return err
		}
		if len(*f) == mostFacts {
			return lang.Errorf("more than %d facts", mostFacts)
		}
		if slices.ContainsFunc(*f, func(x Fact) bool { return x.Name == name }) {
			return lang.Errorf("duplicate fact %q", jsonpos.Shorten(name, shownName))
		}
		var compact bytes.Buffer // removes the line breaks of lists in indented documents
		if err := json.Compact(&compact, value); err != nil {
			return err
		}
		value = compact.Bytes()
		if err := checkFact(value); err != nil {
			return lang.Errorf("fact %q: %w", jsonpos.Shorten(name, shownName), err)
		}
		*f = append(*f, Fact{name, string(value)})
		return nil
	})
}

// checkFact returns an error unless value is a valid fact.
func checkFact(value json.RawMessage) error {
	switch string(value) {
	case "true", "false":
		return nil
	}
	if len(value) > 0 && value[0] == '[' {
		var all []int64
		if err := json.Unmarshal(value, &all); err != nil {
			return lang.Errorf("no list of whole numbers")
		}
		return nil
	}
	_, err := jsonpos.ParseNumber(value)
	return err
}
