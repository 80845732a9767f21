package record

import "fmt"

// Standard is what an acceptance standard of single operators says of a row. See
// package standard for the rules.
type Standard struct {
	// Name is that of the standard, Rule what it has for such a tensor: float, move,
	// integer or quantise. Type is the element type whose thresholds are used.
	Name, Rule, Type string
	Status           Status
	// Right, Wrong and Unclear count the elements that are not finite on a side: right
	// ones, wrong ones, and those of which all sides differ.
	Right, Wrong, Unclear int64
	Checks                []Check
}

// Check is a number that a standard limits.
type Check struct {
	Name  string
	Value float64
	// Relation is how the value stands to the limit in a tensor that passes: <, <= or
	// >=.
	Relation string
	Limit    float64
	// NPU and Third are the errors of both sides where the value is their ratio.
	NPU, Third Number
	Holds      bool
}

// standardJSON is a Standard in compare.json.
type standardJSON struct {
	Name      string      `json:"name"`
	Rule      string      `json:"rule"`
	Type      string      `json:"type"`
	Status    Status      `json:"status"`
	NonFinite nonFinite   `json:"non_finite"`
	Checks    []checkJSON `json:"checks"`
}

// nonFinite counts the elements that are not finite on a side.
type nonFinite struct {
	Right   int64 `json:"right"`
	Wrong   int64 `json:"wrong"`
	Unclear int64 `json:"unclear"`
}

type checkJSON struct {
	Name     string `json:"name"`
	Value    Number `json:"value"`
	Relation string `json:"relation"`
	Limit    Number `json:"limit"`
	NPU      Number `json:"npu"`
	Third    Number `json:"third"`
	Holds    bool   `json:"holds"`
}

func standardOf(s *Standard) *standardJSON {
	if s == nil {
		return nil
	}
	j := &standardJSON{s.Name, s.Rule, s.Type, s.Status, nonFinite{s.Right, s.Wrong, s.Unclear}, []checkJSON{}}
	for _, c := range s.Checks {
		j.Checks = append(j.Checks, checkJSON{c.Name, NumberOf(c.Value), c.Relation, NumberOf(c.Limit), c.NPU, c.Third, c.Holds})
	}
	return j
}

// standard is the one that was written.
func (j *standardJSON) standard() (*Standard, error) {
	if j == nil {
		return nil, nil
	}
	if j.Status != Pass && j.Status != Warn && j.Status != Fail {
		return nil, fmt.Errorf("standard of the status %q, want PASS, WARN or FAIL", excerpt([]byte(j.Status)))
	}
	n := j.NonFinite
	s := &Standard{Name: j.Name, Rule: j.Rule, Type: j.Type, Status: j.Status, Right: n.Right, Wrong: n.Wrong, Unclear: n.Unclear}
	for _, c := range j.Checks {
		s.Checks = append(s.Checks, Check{c.Name, c.Value.orNaN(), c.Relation, c.Limit.orNaN(), c.NPU, c.Third, c.Holds})
	}
	return s, nil
}
