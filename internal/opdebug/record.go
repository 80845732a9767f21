package opdebug

import "strconv"

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
	// Size is the number of payload bytes the record was read from, 0 when it
	// was not read from a payload.
	Size int
	// Undecoded lists the payload bytes that are not zero although no field
	// covers them.
	Undecoded []Span
	// Warnings lists what was unusual without stopping the record from being
	// read.
	Warnings []string
}

// Valid reports whether the device marked the record as valid. The old layout
// has no such mark: its records are always valid.
func (r *Record) Valid() bool {
	return r.Generation == OldLayout || r.Header.Valid == 1
}

// Overflowed reports whether the record shows an overflow: it is valid and
// some status word is not zero.
func (r *Record) Overflowed() bool { return len(r.Overflows()) > 0 }

// Overflows returns the areas that show an overflow, in file order. A
// record that is not valid has none.
func (r *Record) Overflows() []Area {
	if !r.Valid() {
		return nil
	}
	var out []Area
	for i := range r.Areas {
		if r.Areas[i].Overflowed() {
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
