package report

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"time"

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
		return append(dst, marshal(rescuedForm(r.Rescued), recordIndent)...)
	}
	return dst
}

const recordIndent = "    "

// decodedJSON is the extended form. null means that nothing tells.
type decodedJSON struct {
	File         string          `json:"file"`
	OriginalName string          `json:"original_name,omitempty"`
	Output       *int            `json:"output"`
	Timestamp    *uint64         `json:"timestamp"`
	Time         *string         `json:"time"`
	Generation   *string         `json:"generation"`
	Valid        *bool           `json:"valid"`
	Overflowed   *bool           `json:"overflowed"`
	Record       json.RawMessage `json:"record"`
	Rescued      *rescuedJSON    `json:"rescued,omitempty"`
	Areas        []areaJSON      `json:"areas"`
	Warnings     []string        `json:"warnings"`
	Header       *headerJSON     `json:"header,omitempty"`
	Error        string          `json:"error,omitempty"`
}

// areaJSON is what a unit says. status, status_hex and unknown have an element
// for every status word.
type areaJSON struct {
	Unit      string      `json:"unit"`
	Register  string      `json:"register"`
	IDs       hexFields   `json:"ids_hex"`
	Status    []uint64    `json:"status"`
	StatusHex []string    `json:"status_hex"`
	Causes    []causeJSON `json:"causes"`
	Unknown   []string    `json:"unknown"`
}

// AppendRecordExtended appends a record with everything that can be told about
// it, without a newline. Advice and notes are in the given language.
func AppendRecordExtended(dst []byte, r *overflow.DecodedRecord, lang Lang) []byte {
	form := decodedJSON{
		File: r.File, OriginalName: r.OriginalName,
		Areas: []areaJSON{}, Warnings: append([]string{}, r.Warnings...),
	}
	if r.Output >= 0 {
		form.Output = &r.Output
	}
	form.setTime(r.Timestamp)
	switch {
	case r.Err != nil:
		form.Error = r.Err.Error()
		form.Header = headerOf(r.Err)
	case r.Rescued != nil:
		form.setLayout(opdebug.NewLayout, r.Rescued.Header.Valid == 1)
		form.Rescued = rescuedForm(r.Rescued)
	default:
		form.setLayout(r.Record.Generation, r.Record.Valid())
		form.Record = r.Record.AppendJSON(nil)
		for i := range r.Record.Areas {
			form.Areas = append(form.Areas, areaForm(&r.Record.Areas[i], lang))
		}
	}
	if yes, known := r.Overflowed(); known && r.Err == nil {
		form.Overflowed = &yes
	}
	return append(dst, marshal(form, recordIndent)...)
}

func (d *decodedJSON) setTime(micros uint64) {
	const lastYear = 9999
	if micros == 0 {
		return
	}
	d.Timestamp = &micros
	if micros > math.MaxInt64 {
		return
	}
	if t := time.UnixMicro(int64(micros)).UTC(); t.Year() <= lastYear {
		text := t.Format("2006-01-02T15:04:05.000000Z")
		d.Time = &text
	}
}

func (d *decodedJSON) setLayout(g opdebug.Generation, valid bool) {
	name := "new"
	if g == opdebug.OldLayout {
		name = "old"
	}
	d.Generation, d.Valid = &name, &valid
}

// areaForm decodes the status words of an area.
func areaForm(a *opdebug.Area, lang Lang) areaJSON {
	register := overflow.UnitRegister(a.Unit)
	form := areaJSON{
		Unit: a.Unit.String(), Register: register.String(), IDs: ids(a), Status: a.Status, Causes: []causeJSON{},
	}
	for i, word := range a.Status {
		res := statusreg.Decode(register, statusreg.Value{word})
		form.StatusHex = append(form.StatusHex, res.Value.String())
		form.Unknown = append(form.Unknown, res.Unknown.String())
		if word == 0 {
			continue // the cause of nothing
		}
		for _, c := range causesJSON(&res, lang) {
			if len(a.Status) > 1 {
				c.Word = &i
			}
			if i > 0 {
				c.Note = lang.Text(furtherWord)
			}
			form.Causes = append(form.Causes, c)
		}
	}
	return form
}

// furtherWord is what to think of causes in the words of version 1 that no
// public source describes.
var furtherWord = statusreg.Text{
	EN: "status words after the first are not documented: the meaning may not apply",
	ZH: "首个以外的状态字未公开，含义可能不适用",
}

// hexFields is a JSON object of numbers in hex, in their order.
type hexFields []opdebug.Field

// ids lists the fields of an area that the JSON form of the record has in
// decimal, without the status.
func ids(a *opdebug.Area) hexFields {
	var all hexFields
	for _, f := range a.Fields() {
		if !f.Hex && f.Name != "status" {
			all = append(all, f)
		}
	}
	return all
}

// MarshalJSON implements json.Marshaler.
func (h hexFields) MarshalJSON() ([]byte, error) {
	b := []byte("{")
	for i, f := range h {
		if i > 0 {
			b = append(b, ',')
		}
		b = fmt.Appendf(b, "%q:%q", f.Name, hexText(f.Values[0]))
	}
	return append(b, '}'), nil
}

func hexText(v uint64) string { return "0x" + strconv.FormatUint(v, 16) }
