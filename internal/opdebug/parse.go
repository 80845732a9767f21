package opdebug

import (
	"encoding/binary"
	"fmt"
)

// Parse reads a record from the payload of output 0 of an OpDebug dump. It
// returns a *ShortError when the payload ends too early and an *AccTypeError
// when a new layout header names an unknown accelerator type.
//
// A payload that starts with Magic is taken as new layout whatever follows:
// an old one would need a DHA model id of 1515870810 to begin like that.
func Parse(payload []byte) (*Record, error) {
	if len(payload) >= 4 && binary.LittleEndian.Uint32(payload) == Magic {
		return parseNew(payload)
	}
	return parseOld(payload)
}

// parseOld reads the three areas of the old layout.
func parseOld(payload []byte) (*Record, error) {
	size, least := len(payload), minSize(oldLayouts())
	if size < least {
		return nil, &ShortError{OldLayout, "payload", size, BufferSize, least}
	}
	r := &Record{Generation: OldLayout, Size: size}
	for i := range oldLayouts() {
		r.Areas = append(r.Areas, layouts[i].parse(payload))
	}
	if size != BufferSize {
		r.warn("old layout payload has %d bytes, wanted %d: fields end at %d", size, BufferSize, least)
	}
	r.Undecoded = undecoded(payload, oldLayouts(), 0, BufferSize)
	for _, s := range r.Undecoded {
		r.warn("reserved bytes %v are not zero", s)
	}
	return r, nil
}

// parseNew reads the header and the entry of the new layout.
func parseNew(payload []byte) (*Record, error) {
	size := len(payload)
	if size < headerSize {
		return nil, &ShortError{NewLayout, "header", size, headerSize, headerSize}
	}
	h := parseHeader(payload)
	unit, err := h.unit()
	if err != nil {
		return nil, err
	}
	l := h.layout(unit)
	if size < l.end() {
		what := fmt.Sprintf("%v entry of version %d", unit, h.Version)
		return nil, &ShortError{NewLayout, what, size, l.end(), l.end()}
	}
	r := &Record{Generation: NewLayout, Header: h, Size: size}
	r.Areas = []Area{l.parse(payload)}
	r.Warnings = h.warnings(l)
	r.Undecoded = undecoded(payload, []layout{*l}, headerSize, h.end())
	for _, s := range r.Undecoded {
		if s.Offset < h.end() {
			r.warn("unknown bytes %v of the entry are not zero", s)
		} else {
			r.warn("bytes %v after the entry's end at 0x%x are not zero", s, max(h.end(), l.end()))
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
		n = max(n, ls[i].end())
	}
	return n
}

// warn adds a warning.
func (r *Record) warn(format string, args ...any) {
	r.Warnings = append(r.Warnings, fmt.Sprintf(format, args...))
}
