package diagnose

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"dumptool/internal/compare/metrics/noise"
	"dumptool/internal/compare/record"
)

// evidenceJSON is Evidence in a file.
type evidenceJSON struct {
	Patterns record.Reasons `json:"patterns,omitempty"`
	Uneven   *unevenJSON    `json:"uneven,omitempty"`
	Noise    *noise.Noise   `json:"noise,omitempty"`
	// Second are the root mean square and the largest error of the second reference.
	Second *[2]record.Number `json:"second,omitempty"`
}

// unevenJSON is Unevenness in a file.
type unevenJSON struct {
	Axis    int           `json:"axis"`
	Size    int64         `json:"size"`
	From    int64         `json:"from"`
	To      int64         `json:"to"`
	Half    record.Number `json:"half"`
	Peak    record.Number `json:"peak"`
	RelHalf record.Number `json:"rel_half"`
	RelPeak record.Number `json:"rel_peak"`
	Counted bool          `json:"counted,omitempty"`
}

// IsZero reports whether nothing is known.
func (e *Evidence) IsZero() bool {
	return len(e.Patterns) == 0 && e.Uneven == nil && e.Noise == "" && !e.Second.Known
}

// MarshalJSON implements json.Marshaler.
func (e *Evidence) MarshalJSON() ([]byte, error) {
	j := evidenceJSON{Patterns: e.Patterns, Noise: e.Noise.Unpack()}
	if u := e.Uneven; u != nil {
		j.Uneven = &unevenJSON{u.Axis, u.Size, u.From, u.To, record.NumberOf(u.half), record.NumberOf(u.peak),
			record.NumberOf(u.relHalf), record.NumberOf(u.relPeak), u.counted}
	}
	if e.Second.Known {
		j.Second = &[2]record.Number{record.NumberOf(e.Second.RMS), record.NumberOf(e.Second.Max)}
	}
	return json.Marshal(&j)
}

// UnmarshalJSON implements json.Unmarshaler. It refuses what no pair has.
func (e *Evidence) UnmarshalJSON(data []byte) error {
	var j evidenceJSON
	if err := json.Unmarshal(data, &j); err != nil {
		return err
	}
	*e = Evidence{Patterns: j.Patterns, Noise: j.Noise.Pack()}
	table := patterns()
	for _, f := range e.Patterns {
		if !slices.ContainsFunc(table, func(p pattern) bool { return p.code == f.Code }) {
			return fmt.Errorf("pattern %.40q is unknown", f.Code)
		}
	}
	if u := j.Uneven; u != nil {
		if u.Axis < 0 || u.From < 0 || u.To < u.From || u.Size < u.To || u.Size < 1 {
			return fmt.Errorf("errors in [%d, %d) of axis %d of the length %d", u.From, u.To, u.Axis, u.Size)
		}
		e.Uneven = &Unevenness{Axis: u.Axis, Size: u.Size, From: u.From, To: u.To, half: u.Half.Value, peak: u.Peak.Value,
			relHalf: u.RelHalf.Value, relPeak: u.RelPeak.Value, counted: u.Counted}
	}
	if s := j.Second; s != nil {
		e.Second = Second{Known: true, RMS: s[0].Value, Max: s[1].Value}
	}
	return nil
}

// Append appends the evidence in as few bytes as it takes, for the memory of one run:
// no file that lasts has it. Most evidence is noise alone.
func (e *Evidence) Append(b []byte) ([]byte, error) {
	rest := *e
	rest.Noise = ""
	var text []byte
	if !rest.IsZero() {
		var err error
		if text, err = json.Marshal(&rest); err != nil {
			return nil, err
		}
	}
	return append(append(binary.AppendUvarint(b, uint64(len(text))), text...), e.Noise...), nil
}

// DecodeEvidence is the evidence of Append.
func DecodeEvidence(b []byte) (e Evidence, err error) {
	n, size := binary.Uvarint(b)
	if size <= 0 || n > uint64(len(b)-size) {
		return e, errors.New("evidence that was set aside is damaged")
	}
	b = b[size:]
	if n > 0 {
		if err := json.Unmarshal(b[:n], &e); err != nil {
			return e, err
		}
	}
	e.Noise = noise.Packed(b[n:])
	return e, nil
}
