package record

import (
	"bytes"
	"encoding/json"
	"slices"

	"dumptool/internal/compare/metrics"
)

// ReadShown reads a compare.json that is in memory as Read does, but for what no page
// shows: the joint histograms and the digests. It takes a third of the time. What it
// does not understand at once Read reads, so that the documents that are refused and
// the errors are the same.
func ReadShown(data []byte) (*Report, error) {
	if r := readShown(data); r != nil {
		return r, nil
	}
	return Read(bytes.NewReader(data))
}

// unshown are the keys of a row that no page shows.
var unshown = []string{"joint", "digests"}

// readShown returns nil for a document that is not as the program writes it.
func readShown(data []byte) *Report {
	keys := map[string]json.RawMessage{}
	var rows []Row
	end, ok := eachMember(data, space(data, 0), func(key string, value []byte) bool {
		if _, twice := keys[key]; twice {
			return false
		}
		keys[key] = value
		if key == "schema" && string(value) != `"`+Schema+`"` {
			return false
		}
		if key != "rows" {
			return json.Valid(value)
		}
		rows = []Row{}
		var kept []byte
		end, ok := eachElement(value, 0, func(value []byte) bool {
			row, text, ok := shownRow(value, kept[:0])
			rows, kept = append(rows, row), text
			return ok
		})
		return ok && end == len(value)
	})
	if !ok || space(data, end) != len(data) {
		return nil
	}
	r, err := assemble(keys, rows)
	if err != nil {
		return nil
	}
	return r
}

// shownRow reads a row. kept takes the text of what is shown.
func shownRow(text, kept []byte) (Row, []byte, bool) {
	var numbers []byte
	kept = append(kept, '{')
	end, ok := eachMember(text, 0, func(key string, value []byte) bool {
		switch {
		case slices.Contains(unshown, key):
			return true
		case key == "metrics":
			numbers, value = value, []byte("{}")
		}
		if len(kept) > 1 {
			kept = append(kept, ',')
		}
		kept = append(append(append(append(kept, '"'), key...), `":`...), value...)
		return true
	})
	if !ok || end != len(text) {
		return Row{}, kept, false
	}
	kept = append(kept, '}')
	var j rowJSON
	if err := json.Unmarshal(kept, &j); err != nil {
		return Row{}, kept, false
	}
	j.numbers = numbers
	row, err := j.row()
	return row, kept, err == nil
}

// putNumbers sets the metrics of an object as the program writes it. It reports
// whether it is one.
func putNumbers(r *metrics.Result, object []byte) bool {
	next := 0 // the metrics are in the order of the table
	end, ok := eachMember(object, 0, func(key string, value []byte) bool {
		var m metrics.Metric
		if string(value) != "null" {
			var err error
			if m.Value, err = parseNumber(value); err != nil {
				return false
			}
			m.Defined = true
		}
		for next < len(metrics.Table) && metrics.Table[next].Name != key {
			next++
		}
		if next == len(metrics.Table) {
			return false
		}
		return metrics.Table[next].Set(r, m)
	})
	return ok && end == len(object)
}

// space is the place of the first byte from a place on that is no white space.
func space(data []byte, at int) int {
	for at < len(data) && (data[at] == ' ' || data[at] == '\n' || data[at] == '\t' || data[at] == '\r') {
		at++
	}
	return at
}

// eachMember goes through an object at a place, whose keys have no escapes. It returns
// the place behind it. Values are not checked, but for where they end.
func eachMember(data []byte, at int, member func(key string, value []byte) bool) (end int, ok bool) {
	return items(data, at, '{', '}', func(at int) (int, bool) {
		if at >= len(data) || data[at] != '"' {
			return 0, false
		}
		n := bytes.IndexByte(data[at+1:], '"')
		if n < 0 || bytes.IndexByte(data[at+1:at+1+n], '\\') >= 0 {
			return 0, false
		}
		key := string(data[at+1 : at+1+n])
		if at = space(data, at+n+2); at >= len(data) || data[at] != ':' {
			return 0, false
		}
		at = space(data, at+1)
		end, ok := valueEnd(data, at)
		return end, ok && member(key, data[at:end])
	})
}

// eachElement goes through a list at a place. It returns the place behind it.
func eachElement(data []byte, at int, element func(value []byte) bool) (end int, ok bool) {
	return items(data, at, '[', ']', func(at int) (int, bool) {
		end, ok := valueEnd(data, at)
		return end, ok && element(data[at:end])
	})
}

// items goes through what is between brackets, parted by commas.
func items(data []byte, at int, opening, closing byte, item func(at int) (int, bool)) (end int, ok bool) {
	if at >= len(data) || data[at] != opening {
		return 0, false
	}
	if at = space(data, at+1); at < len(data) && data[at] == closing {
		return at + 1, true
	}
	for {
		if at, ok = item(at); !ok {
			return 0, false
		}
		if at = space(data, at); at >= len(data) {
			return 0, false
		}
		switch data[at] {
		case closing:
			return at + 1, true
		case ',':
			at = space(data, at+1)
		default:
			return 0, false
		}
	}
}

// structural are the bytes that valueEnd looks at inside of a value.
var structural = [256]bool{'"': true, '[': true, ']': true, '{': true, '}': true}

// valueEnd is the place behind a value.
func valueEnd(data []byte, at int) (end int, ok bool) {
	depth := 0
	for at < len(data) {
		switch c := data[at]; c {
		case '"':
			for {
				n := bytes.IndexByte(data[at+1:], '"')
				if n < 0 {
					return 0, false
				}
				at += n + 1
				escapes := 0
				for data[at-1-escapes] == '\\' {
					escapes++
				}
				if escapes%2 == 0 {
					break
				}
			}
			at++
		case '[', '{':
			depth++
			at++
		case ']', '}':
			depth--
			at++
		default:
			if depth == 0 {
				start := at
				for at < len(data) && data[at] != ',' && data[at] != '}' && data[at] != ']' && space(data, at) == at {
					at++
				}
				return at, at > start
			}
			for at++; at < len(data) && !structural[data[at]]; at++ {
			}
			continue
		}
		if depth <= 0 {
			return at, depth == 0
		}
	}
	return 0, false
}
