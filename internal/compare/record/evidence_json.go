package record

import "fmt"

// evidenceJSON is Evidence in compare.json. FedBy are indexes into the rows.
type evidenceJSON struct {
	Class      string `json:"class"`
	Level      int    `json:"level"`
	Kind       string `json:"kind"`
	RMS        Number `json:"rms"`
	RefRMS     Number `json:"ref_rms"`
	Rounding   Number `json:"rounding"`
	Expected   Number `json:"expected"`
	Propagated Number `json:"propagated"`
	Own        Number `json:"own"`
	Score      Number `json:"score"`
	Rows       Number `json:"rows"`
	Channels   Number `json:"channels"`
	Peak       Number `json:"peak"`
	ScaleZ     Number `json:"scale_z"`
	Noise      Number `json:"noise"`
	Damaged    bool   `json:"damaged"`
	BiasOf     bool   `json:"bias_of_inputs"`
	FedBy      []int  `json:"fed_by"`
}

// numbers are those of the evidence beside their fields in JSON.
func (j *evidenceJSON) numbers(e *Evidence) map[*Number]*float64 {
	return map[*Number]*float64{&j.RMS: &e.RMS, &j.RefRMS: &e.RefRMS, &j.Rounding: &e.Rounding, &j.Expected: &e.Expected,
		&j.Propagated: &e.Propagated, &j.Own: &e.Own, &j.Score: &e.Score, &j.Rows: &e.Rows, &j.Channels: &e.Channels,
		&j.Peak: &e.Peak, &j.ScaleZ: &e.ScaleZ, &j.Noise: &e.Noise}
}

func evidenceOf(e *Evidence) *evidenceJSON {
	if e == nil {
		return nil
	}
	j := &evidenceJSON{Class: e.Class, Level: e.Level, Kind: e.Kind, Damaged: e.Damaged, BiasOf: e.BiasOfInputs, FedBy: list(e.FedBy)}
	for to, from := range j.numbers(e) {
		*to = NumberOf(*from)
	}
	return j
}

// evidence is the evidence that was written.
func (j *evidenceJSON) evidence() (*Evidence, error) {
	if j == nil {
		return nil, nil
	}
	if j.Level < NoOrigin || j.Level > IsOrigin {
		return nil, fmt.Errorf("evidence of level %d, want %d to %d", j.Level, NoOrigin, IsOrigin)
	}
	e := &Evidence{Class: j.Class, Level: j.Level, Kind: j.Kind, Damaged: j.Damaged, BiasOfInputs: j.BiasOf, FedBy: j.FedBy}
	for from, to := range j.numbers(e) {
		*to = from.Value
	}
	return e, nil
}

// originJSON is an origin in the summary of compare.json.
type originJSON struct {
	Row        string     `json:"row"`
	Reason     Code       `json:"reason"`
	Confidence Confidence `json:"confidence"`
	Kind       string     `json:"kind"`
	Score      Number     `json:"score"`
	FedBy      []string   `json:"fed_by"`
}

// origins are the origins of the summary.
func (r *Report) originsJSON() []originJSON {
	all := make([]originJSON, 0, len(r.Origins))
	for _, i := range r.Origins {
		if i < 0 || i >= r.Len() {
			continue
		}
		row := r.Row(i)
		o := originJSON{Row: row.Name(), FedBy: []string{}}
		if len(row.Reasons) > 0 {
			o.Reason, o.Confidence = row.Reasons[0].Code, row.Reasons[0].Confidence
		}
		if e := row.Evidence; e != nil {
			o.Kind, o.Score, o.FedBy = e.Kind, NumberOf(e.Score), r.names(e.FedBy)
		}
		all = append(all, o)
	}
	return all
}
