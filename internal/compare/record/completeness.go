package record

import "dumptool/internal/format/msprobe"

// Completeness says whether a dump leaves out operators of the forward pass, as the scopes and lists of msprobe do. The
// inputs of its first operator may then have been computed.
type Completeness struct {
	// begins says of each function whether its first call was dumped.
	begins          map[string]bool
	operators, open int
}

// Add adds an operator of the forward pass. isOpen: it reads floating-point numbers, no parameters, and no dumped
// operator produced any of them. Only functions count, as msprobe names them: modules may lack the functions between
// them, and graphs are dumped with other settings.
func (c *Completeness) Add(op string, isOpen bool) {
	name := msprobe.ParseName(op)
	if name.Direction != msprobe.Forward || msprobe.IsModule(op) {
		return
	}
	if c.begins == nil {
		c.begins = map[string]bool{}
	}
	c.begins[name.Callee] = c.begins[name.Callee] || name.Number == "0"
	c.operators++
	if isOpen {
		c.open++
	}
}

// IsPartial reports whether operators are missing: the first dumped call of a function is not its first call, or a
// quarter of at least 6 operators are open.
func (c *Completeness) IsPartial() bool {
	for _, begins := range c.begins {
		if !begins {
			return true
		}
	}
	return c.operators >= 6 && 4*c.open >= c.operators
}
