package diagnose

import (
	"encoding/json"
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
