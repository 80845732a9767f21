package opdebug

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"dumptool/internal/jsonpos"
	"dumptool/internal/lang"
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
		root = r.Header.recordMembers(data...)
	}
	return root.appendIndented(dst)
}

// AppendJSON appends the remaining fields in the form of a new-layout record; lost status words are
// null.
func (r *MisreadRemainder) AppendJSON(dst []byte) []byte {
	var data members
	data.add("model_id", r.ModelID)
	data.add("stream_id", r.StreamID)
	data.add("task_id", r.TaskID)
	if r.HasStatus {
		data.add("status", []*uint64{nil, nil, nil, &r.LastStatus})
	}
	return r.Header.recordMembers(data).appendIndented(dst)
}

// recordMembers returns the members of a new-layout record.
func (h *Header) recordMembers(data ...members) members {
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

// MarshalJSON writes a header whose entry is unreadable: acc_type is a number.
func (h Header) MarshalJSON() ([]byte, error) {
	var m members
	m.add("magic", hexText(uint64(h.Magic)))
	for _, f := range headerFields[1:] {
		m.add(f.name, *f.ref(&h))
	}
	return m.MarshalJSON()
}

// HexIDs returns the decimal fields of an area, except the status, as a JSON object of hex strings.
func (a *Area) HexIDs() json.RawMessage {
	var m members
	for _, f := range a.Fields() {
		if !f.Hex && f.Name != "status" {
			m.add(f.Name, hexText(f.Values[0]))
		}
	}
	object, _ := m.MarshalJSON() // strings cannot fail
	return object
}

// members returns the members of an area's JSON form.
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

// members lists the members of a JSON object in order.
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
	compact, _ := json.Marshal(m) // numbers and strings cannot fail
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

// member is a JSON value with the path of keys to it.
type member struct {
	*jsonpos.Value
	src  []byte
	path string
}

// object is an object, with the set of keys that were read.
type object struct {
	member
	read map[string]bool
}

// parseRoot reads the top-level object of a file, or its member "record" in the extended form.
func parseRoot(data []byte) (*object, error) {
	doc := jsonpos.Parse(data)
	if !doc.Valid() { // encoding/json accepts more than jsonpos: accept the same texts
		var raw json.RawMessage
		var syntax *json.SyntaxError
		if err := json.Unmarshal(data, &raw); errors.As(err, &syntax) {
			return nil, &JSONError{Offset: syntax.Offset, Err: err}
		}
	}
	root := cmp.Or(doc.Root, &jsonpos.Value{End: len(data)})
	if record := root.Get("record"); record != nil && record.Value.Kind == jsonpos.Object {
		root = record.Value
	}
	return member{Value: root, src: data}.asObject()
}

// asObject returns the member as an object; repeated keys are an error.
func (m member) asObject() (*object, error) {
	if m.Kind != jsonpos.Object {
		return nil, m.mismatchError(lang.Say("an object"))
	}
	o := &object{member: m, read: map[string]bool{}}
	for _, repeated := range m.EachRepeated() {
		return nil, &JSONError{Path: o.pathOf(repeated.Key), Offset: int64(repeated.Value.Start), Found: lang.Say("a second value"), Wanted: lang.Say("one")}
	}
	return o, nil
}

func (o *object) pathOf(key string) string { return strings.TrimPrefix(o.path+"."+key, ".") }

func (o *object) has(key string) bool { return o.Get(key) != nil }

// readMember returns the member with a key and marks it as read.
func (o *object) readMember(key string) (member, error) {
	m := o.Get(key)
	if m == nil {
		return member{}, &JSONError{Path: o.path, Offset: int64(o.Start), Found: lang.Say("no such key"), Wanted: lang.Plain(strconv.Quote(key))}
	}
	o.read[key] = true
	return member{m.Value, o.src, o.pathOf(key)}, nil
}

// object returns the member with a key as an object.
func (o *object) object(key string) (*object, error) {
	m, err := o.readMember(key)
	if err != nil {
		return nil, err
	}
	return m.asObject()
}

// unreadMembers returns the paths of the members that were not read.
func (o *object) unreadMembers() []string {
	var out []string
	for i := range o.Members {
		if key := o.Members[i].Key; !o.read[key] {
			out = append(out, strconv.Quote(o.pathOf(key)))
		}
	}
	return out
}

// asNumbers reads the member as one number, or as an array of n if n is not 1.
func (m member) asNumbers(n int) ([]uint64, error) {
	if n == 1 {
		v, err := m.asNumber(64)
		return []uint64{v}, err
	}
	if m.Kind != jsonpos.Array || len(m.Elems) != n {
		return nil, m.mismatchError(lang.Say("an array of %d numbers", n))
	}
	out := make([]uint64, n)
	for i, e := range m.Elems {
		v, err := member{e, m.src, m.path}.asNumber(64)
		if err != nil {
			return nil, err
		}
		out[i] = v
	}
	return out, nil
}

// asNumber reads the member as an unsigned number of at most bits bits: a decimal number, or a hex
// string.
func (m member) asNumber(bits int) (uint64, error) {
	text, base := m.Text, 10
	if m.Kind == jsonpos.String {
		var hex bool
		if text, hex = strings.CutPrefix(text, "0x"); !hex {
			text = ""
		}
		base = 16
	}
	v, err := strconv.ParseUint(text, base, bits)
	if err != nil {
		return 0, m.mismatchError(lang.Say(`a whole number of %d bits or its "0x" string`, bits))
	}
	return v, nil
}

// mismatchError returns the error for a member of the wrong form.
func (m member) mismatchError(wanted lang.Sentence) error {
	const maxShown = 40
	raw := m.src[m.Start:m.End]
	found := strings.Join(strings.Fields(strings.ToValidUTF8(string(raw[:min(len(raw), maxShown)]), "")), " ")
	if len(raw) > maxShown {
		found += "..."
	}
	return &JSONError{Path: m.path, Offset: int64(m.Start), Found: lang.Plain(found), Wanted: wanted}
}

// ParseJSON reads a record from its JSON form: as AppendJSON writes it, as MindSpore writes it, on
// one line with sorted keys, or an object with either as its member "record". The order of keys and
// white space do not matter.
//
// It returns a *JSONError for other forms, an *AccTypeError for an unknown accelerator type, and a
// *MisreadError for the file of a new-layout record that MindSpore read with the old layout.
func ParseJSON(data []byte) (*Record, error) {
	root, err := parseRoot(data)
	if err != nil {
		return nil, err
	}
	if root.has("magic") {
		return parseJSONEntry(root)
	}
	r, err := parseJSONAreas(root)
	if err != nil {
		return nil, err
	}
	if isMisread(r) {
		return nil, decodeMisread(r)
	}
	return r, nil
}

// parseJSONAreas reads the JSON form of the old layout.
func parseJSONAreas(root *object) (*Record, error) {
	r := &Record{Generation: OldLayout}
	for i := range oldLayouts() {
		l := &layouts[i]
		o, err := root.object(l.unit.String())
		if err != nil {
			return nil, err
		}
		a, err := l.parseJSON(o)
		if err != nil {
			return nil, err
		}
		r.Areas = append(r.Areas, a)
		r.warnUnread(o)
	}
	r.warnUnread(root)
	return r, nil
}

// parseJSONEntry reads the JSON form of the new layout.
func parseJSONEntry(root *object) (*Record, error) {
	r := &Record{Generation: NewLayout}
	list, err := r.parseJSONHeader(root)
	if err != nil {
		return nil, err
	}
	unit, err := r.Header.entryUnit()
	if err != nil {
		return nil, err
	}
	data, err := list.object("data")
	if err != nil {
		return nil, err
	}
	words := 1
	if status := data.Get("status"); status != nil && status.Value.Kind == jsonpos.Array {
		words = 4
	}
	l := findLayout(unit, words)
	a, err := l.parseJSON(data)
	if err != nil {
		return nil, err
	}
	r.Areas = []Area{a}
	r.Warnings = r.Header.entryWarnings(l)
	for _, o := range []*object{data, list, root} {
		r.warnUnread(o)
	}
	return r, nil
}

// parseJSONHeader fills the header and returns the object acc_list.
func (r *Record) parseJSONHeader(root *object) (*object, error) {
	list, err := root.object("acc_list")
	if err != nil {
		return nil, err
	}
	o := root
	for i, f := range headerFields {
		if i == len(headerFields)-len(entryFields) {
			o = list
		}
		v, err := o.readHeaderValue(f.name)
		if err != nil {
			return nil, err
		}
		*f.ref(&r.Header) = v
	}
	if r.Header.Magic != Magic {
		m, _ := root.readMember("magic")
		return nil, m.mismatchError(lang.Plain(fmt.Sprintf(`"0x%x"`, Magic)))
	}
	return list, nil
}

// readHeaderValue reads one word of the header; acc_type may be a name.
func (o *object) readHeaderValue(name string) (uint32, error) {
	m, err := o.readMember(name)
	if err != nil {
		return 0, err
	}
	if name == accType {
		for u := AIC; u <= SDMA; u++ {
			if m.Kind == jsonpos.String && m.Text == u.String() {
				return uint32(u - AIC), nil
			}
		}
	}
	v, err := m.asNumber(32)
	return uint32(v), err
}

// parseJSON reads an area's fields.
func (l *layout) parseJSON(o *object) (Area, error) {
	a := l.newArea()
	for i := range l.fields {
		f := &l.fields[i]
		name := f.name
		if f.alias != "" && !o.has(name) && o.has(f.alias) {
			name = f.alias
		}
		m, err := o.readMember(name)
		if err != nil {
			return Area{}, err
		}
		words, err := m.asNumbers(f.words)
		if err != nil {
			return Area{}, err
		}
		for j, v := range words {
			f.set(&a, j, v)
		}
	}
	return a, nil
}

// warnUnread warns of members that were not read.
func (r *Record) warnUnread(o *object) {
	if keys := o.unreadMembers(); len(keys) > 0 {
		r.warn("unknown keys %s", strings.Join(keys, ", "))
	}
}

// MisreadRemainder is the remainder of a new-layout record that a program read with the old layout
// and stored with the old layout's fields only, as in MindSpore's JSON files on devices with the
// new layout.
//
// The old layout's first area covers the header and the first three ids. All further fields of the
// entry are between the old layout's fields, except the last of four status words.
type MisreadRemainder struct {
	Header     Header
	Unit       Unit
	ModelID    uint64
	StreamID   uint64
	TaskID     uint64
	LastStatus uint64 // the fourth status word
	HasStatus  bool   // the entry has four status words, so LastStatus is valid
	Warnings   []lang.Sentence
}

// isMisread reports whether an old layout record starts with the magic number
// of the new layout.
func isMisread(r *Record) bool { return uint32(r.Areas[0].ModelID) == Magic }

// decodeMisread decodes a misread record. The result is a *MisreadError, or an *AccTypeError if the
// header has an unknown accelerator type.
func decodeMisread(r *Record) error {
	dha, l2 := &r.Areas[0], &r.Areas[1]
	var h Header
	for i, f := range headerFields {
		pair := [...]uint64{dha.ModelID, dha.StreamID, dha.TaskID}[i/2]
		*f.ref(&h) = uint32(pair >> (32 * (i % 2)))
	}
	unit, err := h.entryUnit()
	if err != nil {
		return err
	}
	l := h.entryLayout(unit)
	out := MisreadRemainder{
		Header:   h,
		Unit:     unit,
		ModelID:  dha.TaskType,
		StreamID: dha.PCStart,
		TaskID:   dha.ParaBase,
		Warnings: append(h.entryWarnings(l), r.Warnings...),
	}
	if l.statusWords() > 1 {
		out.LastStatus, out.HasStatus = l2.ModelID, true
	}
	return &MisreadError{Rescued: out}
}
