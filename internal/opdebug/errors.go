package opdebug

import "fmt"

// ShortError reports a payload that ends before the record does.
type ShortError struct {
	Generation Generation
	What       string // what does not fit
	Found      int    // bytes in the payload
	Wanted     int    // bytes the layout normally has
	Least      int    // bytes that hold all fields
}

// Error names the size found and the size wanted.
func (e *ShortError) Error() string {
	s := fmt.Sprintf("opdebug: %v: %s cut off at 0x%x: found %d bytes, wanted %d",
		e.Generation, e.What, e.Found, e.Found, e.Wanted)
	if e.Least != e.Wanted {
		s += fmt.Sprintf(" (at least %d)", e.Least)
	}
	return s
}

// AccTypeError reports a new layout header with an unknown accelerator type.
// The entry's fields are unknown then, but the header is known.
type AccTypeError struct {
	Header Header
}

// Error shows the whole header.
func (e *AccTypeError) Error() string {
	h := &e.Header
	return fmt.Sprintf("opdebug: acc_type %d at 0xc, wanted 0 to 3 (header: version %d, valid %d, rsv %d, data_len %d)",
		h.AccType, h.Version, h.Valid, h.Rsv, h.DataLen)
}

// JSONError reports a JSON file that is no overflow record.
type JSONError struct {
	Path   string // the keys that lead to the value, joined by dots
	Offset int64  // in the file
	Found  string
	Wanted string
	Err    error // the cause when the file is no JSON at all
}

// Error says where the trouble is, what was found and what was wanted.
func (e *JSONError) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("opdebug: json at 0x%x: %v", e.Offset, e.Err)
	}
	where := e.Path
	if where == "" {
		where = "top level"
	}
	return fmt.Sprintf("opdebug: json: %s at 0x%x: found %s, wanted %s", where, e.Offset, e.Found, e.Wanted)
}

// Unwrap returns the cause.
func (e *JSONError) Unwrap() error { return e.Err }

// MisreadError reports a JSON file that was made from a new layout record by
// a reader that knows only the old layout. Rescued is what is left of it.
type MisreadError struct {
	Rescued Rescued
}

// Error names the ids that are left.
func (e *MisreadError) Error() string {
	r := &e.Rescued
	return fmt.Sprintf("opdebug: json: new layout record was read with the old layout; left are %v, model_id %d, stream_id %d, task_id %d",
		r.Unit, r.ModelID, r.StreamID, r.TaskID)
}
