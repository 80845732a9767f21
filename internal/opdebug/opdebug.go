// Package opdebug reads and writes overflow records: the payload of output 0
// of an OpDebug dump file, and its JSON form.
//
// Two layouts exist, both little-endian, both described in the CANN overflow
// data documentation ("overflow/underflow operator data collection and
// analysis"):
//
//   - the old layout (Ascend 910, 310P): a buffer of 2048 bytes with fixed
//     areas for DHA atomic add, L2 atomic add and AI Core, all values 64 bit;
//   - the new layout (Ascend 910B and later): a header of six 32-bit words
//     that starts with 0x5A5A5A5A, then one entry of 64-bit words whose fields
//     depend on the accelerator type.
//
// The package knows no dump containers and reads no files. Package statusreg explains status words,
// and package overflow finds the operator of a record.
package opdebug

import (
	"encoding/binary"
	"math"
	"strconv"

	"dumptool/internal/lang"
)

// BufferSize is the size of the device buffer that holds one record, and so
// the payload size of the old layout.
const BufferSize = 2048

// NoID is the value of an id that does not apply to a task, for instance the
// context id of a task that is not an FFTS+ task.
const NoID = 65535

// Generation is one of the two record layouts.
type Generation uint8

// The generations of records.
const (
	OldLayout Generation = iota + 1 // three fixed areas in 2048 bytes
	NewLayout                       // a header with a magic number and one entry
)

// String returns "old layout" or "new layout".
func (g Generation) String() string {
	switch g {
	case OldLayout:
		return "old layout"
	case NewLayout:
		return "new layout"
	}
	return "Generation(" + strconv.Itoa(int(g)) + ")"
}

// Record is one overflow record.
type Record struct {
	Generation Generation
	// Header is the header of a new layout record, zero for the old layout.
	Header Header
	// Areas holds DHA, L2 and AICore in this order for the old layout, and
	// exactly one area for the new one.
	Areas []Area
	// Size is the number of payload bytes from which the record was read, 0 without a payload.
	Size int
	// Undecoded lists the non-zero payload bytes that no field covers.
	Undecoded []Span
	// Warnings lists oddities that did not prevent reading the record.
	Warnings []lang.Sentence
}

// Valid reports whether the device marked the record as valid. The old layout
// has no such mark: its records are always valid.
func (r *Record) Valid() bool {
	return r.Generation == OldLayout || r.Header.Valid == 1
}

// HasOverflow reports whether the record shows an overflow: it is valid and
// some status word is not zero.
func (r *Record) HasOverflow() bool { return len(r.Overflows()) > 0 }

// Overflows returns the areas that show an overflow, in file order; none if the record is not
// valid.
func (r *Record) Overflows() []Area {
	if !r.Valid() {
		return nil
	}
	var out []Area
	for i := range r.Areas {
		if r.Areas[i].HasOverflow() {
			out = append(out, r.Areas[i])
		}
	}
	return out
}

// Empty reports whether every field of every area is zero: the device
// recorded nothing.
func (r *Record) Empty() bool {
	for i := range r.Areas {
		for _, f := range r.Areas[i].Fields() {
			for _, v := range f.Values {
				if v != 0 {
					return false
				}
			}
		}
	}
	return true
}

// ShortError is the error of a truncated payload.
type ShortError struct {
	Generation Generation
	Part       lang.Sentence // the truncated part
	Found      int           // bytes in the payload
	Wanted     int           // bytes the layout normally has
	Minimum    int           // bytes that hold all fields
}

// Error names the size found and the size wanted.
func (e *ShortError) Error() string { return e.Text().String() }

// Text returns the error in both languages.
func (e *ShortError) Text() lang.Text {
	if e.Minimum != e.Wanted {
		return lang.Say("opdebug: %v: %s cut off at 0x%x: found %d bytes, wanted %d (at least %d)",
			e.Generation, e.Part, e.Found, e.Found, e.Wanted, e.Minimum).Text()
	}
	return lang.Say("opdebug: %v: %s cut off at 0x%x: found %d bytes, wanted %d",
		e.Generation, e.Part, e.Found, e.Found, e.Wanted).Text()
}

// AccTypeError is the error of a new-layout header with an unknown accelerator type: the fields of
// the entry are unknown.
type AccTypeError struct {
	Header Header
}

// Error shows the whole header.
func (e *AccTypeError) Error() string { return e.Text().String() }

// Text returns the error in both languages.
func (e *AccTypeError) Text() lang.Text {
	h := &e.Header
	return lang.Say("opdebug: acc_type %d at 0xc, wanted 0 to 3 (header: version %d, valid %d, rsv %d, data_len %d)",
		h.AccType, h.Version, h.Valid, h.Rsv, h.DataLen).Text()
}

// JSONError is the error of a JSON file that is no overflow record.
type JSONError struct {
	Path   string // the keys that lead to the value, joined by dots
	Offset int64  // in the file
	Found  lang.Sentence
	Wanted lang.Sentence
	Err    error // the cause when the file is no JSON at all
}

// Error describes the place, and the found and wanted values.
func (e *JSONError) Error() string { return e.Text().String() }

// Text returns the error in both languages.
func (e *JSONError) Text() lang.Text {
	switch {
	case e.Err != nil:
		return lang.Say("opdebug: json at 0x%x: %v", e.Offset, e.Err).Text()
	case e.Path == "":
		return lang.Say("opdebug: json: top level at 0x%x: found %s, wanted %s", e.Offset, e.Found, e.Wanted).Text()
	}
	return lang.Say("opdebug: json: %s at 0x%x: found %s, wanted %s", e.Path, e.Offset, e.Found, e.Wanted).Text()
}

// Unwrap returns the cause.
func (e *JSONError) Unwrap() error { return e.Err }

// MisreadError is the error of a JSON file that was made from a new-layout record by a reader that
// knows only the old layout. Rescued holds the remaining fields.
type MisreadError struct {
	Rescued MisreadRemainder
}

// Error names the remaining ids.
func (e *MisreadError) Error() string { return e.Text().String() }

// Text returns the error in both languages.
func (e *MisreadError) Text() lang.Text {
	r := &e.Rescued
	return lang.Say("opdebug: json: new layout record was read with the old layout; remaining fields: %v, model_id %d, stream_id %d, task_id %d",
		r.Unit, r.ModelID, r.StreamID, r.TaskID).Text()
}

// Magic is the first 32-bit word of a new layout record.
const Magic = 0x5A5A5A5A

// headerSize is the size of the new layout's header: six 32-bit words.
const headerSize = 24

// Header is the header of a new layout record, in file order and raw.
type Header struct {
	Magic   uint32
	Version uint32 // 0 and 1 are known
	Valid   uint32 // 1: the entry is valid
	AccType uint32 // 0 AIC, 1 AIV, 2 AICPU, 3 SDMA
	Rsv     uint32 // reserved
	DataLen uint32 // bytes after the header
}

// headerField is one word of the header.
type headerField struct {
	name string
	ref  func(*Header) *uint32
}

// headerFields lists the header in file order. In the JSON form the first two are members of the
// top level and the others of acc_list.
var headerFields = [...]headerField{
	{"magic", func(h *Header) *uint32 { return &h.Magic }},
	{"version", func(h *Header) *uint32 { return &h.Version }},
	{"valid", func(h *Header) *uint32 { return &h.Valid }},
	{accType, func(h *Header) *uint32 { return &h.AccType }},
	{"rsv", func(h *Header) *uint32 { return &h.Rsv }},
	{"data_len", func(h *Header) *uint32 { return &h.DataLen }},
}

// accType is the header field whose JSON form is a name.
const accType = "acc_type"

// entryFields lists the header fields that belong to the entry.
var entryFields = headerFields[2:]

// parseHeader reads a header; payload holds at least headerSize bytes.
func parseHeader(payload []byte) Header {
	var h Header
	for i, f := range headerFields {
		*f.ref(&h) = binary.LittleEndian.Uint32(payload[4*i:])
	}
	return h
}

// entryUnit returns the unit that acc_type names.
func (h *Header) entryUnit() (Unit, error) {
	if h.AccType > uint32(SDMA-AIC) {
		return 0, &AccTypeError{Header: *h}
	}
	return AIC + Unit(h.AccType), nil
}

// entryLayout returns the layout of the entry: by data_len if it is a known size of the unit, else by
// version.
func (h *Header) entryLayout(unit Unit) *layout {
	for i := range layouts {
		if l := &layouts[i]; l.unit == unit && int64(l.dataLen()) == int64(h.DataLen) {
			return l
		}
	}
	return versionLayout(unit, h.Version)
}

// versionLayout returns the unit's layout in a version of the record.
func versionLayout(unit Unit, version uint32) *layout {
	if version == 1 {
		return findLayout(unit, 4)
	}
	return findLayout(unit, 1)
}

// endOffset returns the offset at which the entry ends according to data_len.
func (h *Header) endOffset() int {
	return int(min(headerSize+int64(h.DataLen), math.MaxInt))
}

// entryWarnings lists oddities of a header whose entry was read with l.
func (h *Header) entryWarnings(l *layout) []lang.Sentence {
	var out []lang.Sentence
	if h.Valid != 1 {
		out = append(out, lang.Say("valid is %d, wanted 1: the entry does not count as an overflow", h.Valid))
	}
	if h.Rsv != 0 {
		out = append(out, lang.Say("reserved field rsv is %d, wanted 0", h.Rsv))
	}
	known := h.Version <= 1
	if !known {
		out = append(out, lang.Say("version %d is unknown, wanted 0 or 1: status words read: %d",
			h.Version, l.statusWords()))
	}
	expected := versionLayout(l.unit, h.Version)
	if int64(h.DataLen) != int64(l.dataLen()) || known && l != expected {
		out = append(out, lang.Say("data_len is %d, %v of version %d has %d: read as %d bytes",
			h.DataLen, l.unit, h.Version, expected.dataLen(), l.dataLen()))
	}
	return out
}

// Parse reads a record from the payload of output 0 of an OpDebug dump. It
// returns a *ShortError when the payload ends too early and an *AccTypeError
// when a new layout header names an unknown accelerator type.
//
// A payload that starts with Magic is always read as new layout: an old one would need the DHA
// model id 1515870810 to begin like that.
func Parse(payload []byte) (*Record, error) {
	if len(payload) >= 4 && binary.LittleEndian.Uint32(payload) == Magic {
		return parseNew(payload)
	}
	return parseOld(payload)
}

// parseOld reads the three areas of the old layout.
func parseOld(payload []byte) (*Record, error) {
	size, minimum := len(payload), minSize(oldLayouts())
	if size < minimum {
		return nil, &ShortError{OldLayout, lang.Say("payload"), size, BufferSize, minimum}
	}
	r := &Record{Generation: OldLayout, Size: size}
	for i := range oldLayouts() {
		r.Areas = append(r.Areas, layouts[i].parse(payload))
	}
	if size != BufferSize {
		r.warn("old layout payload has %d bytes, wanted %d: fields end at %d", size, BufferSize, minimum)
	}
	r.Undecoded = undecodedSpans(payload, oldLayouts(), 0, BufferSize)
	for _, s := range r.Undecoded {
		r.warn("reserved bytes %v are not zero", s)
	}
	return r, nil
}

// parseNew reads the header and the entry of the new layout.
func parseNew(payload []byte) (*Record, error) {
	size := len(payload)
	if size < headerSize {
		return nil, &ShortError{NewLayout, lang.Say("header"), size, headerSize, headerSize}
	}
	h := parseHeader(payload)
	unit, err := h.entryUnit()
	if err != nil {
		return nil, err
	}
	l := h.entryLayout(unit)
	if size < l.endOffset() {
		return nil, &ShortError{NewLayout, lang.Say("%v entry of version %d", unit, h.Version), size, l.endOffset(), l.endOffset()}
	}
	r := &Record{Generation: NewLayout, Header: h, Size: size}
	r.Areas = []Area{l.parse(payload)}
	r.Warnings = h.entryWarnings(l)
	r.Undecoded = undecodedSpans(payload, []layout{*l}, headerSize, h.endOffset())
	for _, s := range r.Undecoded {
		if s.Offset < h.endOffset() {
			r.warn("unknown bytes %v of the entry are not zero", s)
		} else {
			r.warn("bytes %v after the entry's end at 0x%x are not zero", s, max(h.endOffset(), l.endOffset()))
		}
	}
	return r, nil
}

// parse reads an area from a payload that holds all its fields.
func (l *layout) parse(payload []byte) Area {
	a := l.newArea()
	for i := range l.fields {
		f := &l.fields[i]
		for j := range f.words {
			f.set(&a, j, binary.LittleEndian.Uint64(payload[f.offset+j*wordSize:]))
		}
	}
	return a
}

// minSize returns the size of the smallest payload that holds all fields.
func minSize(ls []layout) int {
	n := 0
	for i := range ls {
		n = max(n, ls[i].endOffset())
	}
	return n
}

func (r *Record) warn(format string, args ...any) {
	r.Warnings = append(r.Warnings, lang.Say(format, args...))
}
