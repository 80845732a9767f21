package opdebug

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
)

// MarshalJSON implements json.Marshaler: the form of AppendJSON.
func (r *Record) MarshalJSON() ([]byte, error) { return r.AppendJSON(nil), nil }

// AppendJSON appends the record in the JSON form of the CANN converter:
// fields in file order, four blanks of indentation, addresses as strings in
// hex, no newline at the end.
func (r *Record) AppendJSON(dst []byte) []byte {
	var root members
	if r.Generation == OldLayout {
		for i := range r.Areas {
			root.add(r.Areas[i].Unit.String(), r.Areas[i].members())
		}
	} else {
		var data []members
		for i := range r.Areas {
			data = append(data, r.Areas[i].members())
		}
		root = r.Header.record(data...)
	}
	return root.appendIndented(dst)
}

// AppendJSON appends what is left in the form of a record of the new layout; null
// stands for lost status words.
func (r *Rescued) AppendJSON(dst []byte) []byte {
	var data members
	data.add("model_id", r.ModelID)
	data.add("stream_id", r.StreamID)
	data.add("task_id", r.TaskID)
	if r.HasStatus {
		data.add("status", []*uint64{nil, nil, nil, &r.LastStatus})
	}
	return r.Header.record(data).appendIndented(dst)
}

// record returns the members of a record of the new layout.
func (h *Header) record(data ...members) members {
	var root, entry members
	for _, f := range entryFields {
		if f.name == accType {
			entry.add(f.name, (AIC + Unit(h.AccType)).String())
			continue
		}
		entry.add(f.name, *f.ref(h))
	}
	for _, d := range data {
		entry.add("data", d)
	}
	root.add("magic", hexText(uint64(h.Magic)))
	root.add("version", h.Version)
	root.add("acc_list", entry)
	return root
}

// MarshalJSON writes a header whose entry cannot be read: acc_type is a number.
func (h Header) MarshalJSON() ([]byte, error) {
	var m members
	m.add("magic", hexText(uint64(h.Magic)))
	for _, f := range headerFields[1:] {
		m.add(f.name, *f.ref(&h))
	}
	return m.MarshalJSON()
}

// HexIDs returns the fields of an area that its JSON form has in decimal, without
// the status, as a JSON object of numbers in hex.
func (a *Area) HexIDs() json.RawMessage {
	var m members
	for _, f := range a.Fields() {
		if !f.Hex && f.Name != "status" {
			m.add(f.Name, hexText(f.Values[0]))
		}
	}
	object, _ := m.MarshalJSON() // of strings
	return object
}

// members returns those of an area's JSON form.
func (a *Area) members() members {
	var m members
	for _, f := range a.Fields() {
		switch {
		case len(f.Values) > 1:
			m.add(f.Name, f.Values)
		case f.Hex:
			m.add(f.Name, hexText(f.Values[0]))
		default:
			m.add(f.Name, f.Values[0])
		}
	}
	return m
}

func hexText(v uint64) string { return "0x" + strconv.FormatUint(v, 16) }

// members are those of a JSON object, in order.
type members []struct {
	key   string
	value any
}

func (m *members) add(key string, value any) {
	*m = append(*m, struct {
		key   string
		value any
	}{key, value})
}

// appendIndented appends the object in lines, without a newline at the end.
func (m members) appendIndented(dst []byte) []byte {
	out := bytes.NewBuffer(dst)
	compact, _ := json.Marshal(m) // of numbers and strings
	_ = json.Indent(out, compact, "", "    ")
	return out.Bytes()
}

// MarshalJSON writes the object.
func (m members) MarshalJSON() ([]byte, error) {
	out := []byte{'{'}
	for i, member := range m {
		value, err := json.Marshal(member.value)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			out = append(out, ',')
		}
		out = fmt.Appendf(out, "%q:%s", member.key, value)
	}
	return append(out, '}'), nil
}
