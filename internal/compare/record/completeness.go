package record

import "dumptool/internal/format/msprobe"

// Completeness says whether a dump leaves out operators of the forward pass, as the scopes and lists of msprobe do. The
// inputs of its first operator may then have been computed.
type Completeness struct {
	// first is the lowest call number of each function.
	first           map[string]string
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
	if c.first == nil {
		c.first = map[string]string{}
	}
	if before, ok := c.first[name.Callee]; !ok || isLowerNumber(name.Number, before) {
		c.first[name.Callee] = name.Number
	}
	c.operators++
	if isOpen {
		c.open++
	}
}

func isLowerNumber(a, b string) bool { return len(a) < len(b) || len(a) == len(b) && a < b }

// IsPartial reports whether operators are missing: the first dumped call of a function is not its first call, or a
// quarter of at least 6 operators are open.
func (c *Completeness) IsPartial() bool {
	for _, number := range c.first {
		if number != "0" {
			return true
		}
	}
	return c.operators >= 6 && 4*c.open >= c.operators
}
