package report

import (
	"encoding/json"
	"errors"
	"strings"

	"dumptool/internal/opdebug"
	"dumptool/internal/overflow"
	"dumptool/internal/statusreg"
)

// AppendRecordJSON appends a record in the form of the CANN converter; of a
// rescued one only what is left. There is no newline at the end, and nothing
// at all for one that could not be read.
func AppendRecordJSON(dst []byte, r *overflow.DecodedRecord) []byte {
	switch {
	case r.Record != nil:
		return r.Record.AppendJSON(dst)
	case r.Rescued != nil:
		return r.Rescued.AppendJSON(dst)
	}
	return dst
}

// decodedJSON is the extended form. null means unknown.
type decodedJSON struct {
	File         string               `json:"file"`
	OriginalName string               `json:"original_name,omitempty"`
	Output       *int                 `json:"output"`
	Timestamp    *uint64              `json:"timestamp"`
	Time         *string              `json:"time"`
	Generation   *string              `json:"generation"`
	Valid        *bool                `json:"valid"`
	Overflowed   *bool                `json:"overflowed"`
	Record       json.RawMessage      `json:"record"`
	Rescued      json.RawMessage      `json:"rescued,omitempty"`
	Areas        Table[*opdebug.Area] `json:"areas"`
	Warnings     []string             `json:"warnings"`
	Header       *opdebug.Header      `json:"header,omitempty"`
	Error        string               `json:"error,omitempty"`
}

// AppendRecordExtended appends a record with everything that is known of
// it, without a newline.
func AppendRecordExtended(dst []byte, r *overflow.DecodedRecord) []byte {
	form := decodedJSON{
		File: r.File, OriginalName: r.OriginalName,
		Output: pointer(r.Output, r.Output >= 0), Timestamp: pointer(r.Timestamp, r.Timestamp != 0),
		Areas: Table[*opdebug.Area]{Columns: areaColumns()}, Warnings: list(r.Warnings),
	}
	if text := dateTime(r.Timestamp); r.Timestamp != 0 && text != "" {
		form.Time = pointer(strings.Replace(text, " ", "T", 1)+"Z", true)
	}
	var unknown *opdebug.AccTypeError
	switch {
	case r.Err != nil:
		form.Error = r.Err.Error()
		if errors.As(r.Err, &unknown) {
			form.Header = &unknown.Header
		}
	case r.Rescued != nil:
		form.setLayout(opdebug.NewLayout, r.Rescued.Header.Valid == 1)
		form.Rescued = r.Rescued.AppendJSON(nil)
	default:
		form.setLayout(r.Record.Generation, r.Record.Valid())
		form.Record, form.Areas.Rows = r.Record.AppendJSON(nil), pointers(r.Record.Areas)
	}
	if yes, known := r.Overflowed(); known && r.Err == nil {
		form.Overflowed = &yes
	}
	return append(dst, marshal(form, "    ")...)
}

func (d *decodedJSON) setLayout(g opdebug.Generation, valid bool) {
	name := "new"
	if g == opdebug.OldLayout {
		name = "old"
	}
	d.Generation, d.Valid = &name, &valid
}

// areaColumns are what a unit says. status, status_hex and unknown have an element
// for every status word.
func areaColumns() []Column[*opdebug.Area] {
	type row = *opdebug.Area
	texts := func(a row, text func(statusreg.Result) string) (all []string) {
		for _, r := range overflow.DecodeStatus(a) {
			all = append(all, text(r))
		}
		return all
	}
	return []Column[row]{
		words("unit", func(a row) string { return a.Unit.String() }),
		words("register", func(a row) string { return overflow.UnitRegister(a.Unit).String() }),
		words("ids_hex", row.HexIDs),
		words("status", func(a row) []uint64 { return a.Status }),
		words("status_hex", func(a row) []string {
			return texts(a, func(r statusreg.Result) string { return r.Value.String() })
		}),
		words("causes", func(a row) any {
			rows := wordEntries(overflow.DecodeStatus(a), func(r *statusreg.Result) []statusreg.Entry {
				if r.Value.IsZero() {
					return nil // the cause of nothing
				}
				return r.Entries
			})
			return Table[wordEntry]{entryColumns(), rows}
		}),
		words("unknown", func(a row) []string {
			return texts(a, func(r statusreg.Result) string { return r.Unknown.String() })
		}),
	}
}
