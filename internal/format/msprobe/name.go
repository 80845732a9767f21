package msprobe

import (
	"slices"
	"strconv"
	"strings"
)

// Name is the parsed name of a call, or of separately dumped values.
//
//	Functional.relu.0.backward                {Functional.relu 0 backward}
//	Module.fc1.Linear.forward.0               {Module.fc1.Linear 0 forward}
//	Module.fc1.Linear.parameters_grad         {Module.fc1.Linear "" parameters_grad}
type Name struct {
	// Callee is the name without number and direction; the whole name if it has another form.
	Callee string
	// Number counts the calls of one callee and direction, empty for none.
	Number string
	// Direction is empty for a name of another form.
	Direction Direction
}

// Direction is the pass that a call belongs to.
type Direction string

// The directions. Backward calls and gradients are counted apart from forward calls.
const (
	Forward   Direction = "forward"
	Backward  Direction = "backward"
	Gradients Direction = "parameters_grad"
	Debug     Direction = "debug"
	DebugGrad Direction = "debug_grad"
)

var directions = []Direction{Forward, Backward, Gradients, Debug, DebugGrad}

// IsBackward reports whether a call belongs to the backward pass, including gradients of
// parameters.
func (d Direction) IsBackward() bool { return d == Backward || d == Gradients }

// ParseName parses the name of a call: functions have the number before the direction, modules
// after it. The gradients of parameters may have no number.
func ParseName(api string) Name {
	words := strings.Split(api, ".")
	number, direction := len(words)-2, len(words)-1
	if IsModule(api) && words[direction] != string(Gradients) {
		number, direction = direction, number
	}
	if len(words) < 3 || !slices.Contains(directions, Direction(words[direction])) {
		return Name{Callee: api}
	}
	if isNumber(words[number]) {
		return Name{strings.Join(words[:min(number, direction)], "."), words[number], Direction(words[direction])}
	}
	if direction > number && words[direction] == string(Gradients) {
		return Name{strings.Join(words[:direction], "."), "", Gradients}
	}
	return Name{Callee: api}
}

// InDirection returns the name of the same call in another direction. The number of gradients of
// parameters counts steps: they belong to the first call.
func (n Name) InDirection(direction Direction) string {
	number := n.Number
	if n.Direction == Gradients {
		number = "0"
	}
	if IsModule(n.Callee) {
		return n.Callee + "." + string(direction) + "." + number
	}
	return n.Callee + "." + number + "." + string(direction)
}

// Class returns the class of a module, such as Linear; empty for a function.
func (n Name) Class() string {
	if !IsModule(n.Callee) {
		return ""
	}
	words := strings.Split(n.Callee, ".")
	for len(words) > 2 && isNumber(words[len(words)-1]) {
		words = words[:len(words)-1]
	}
	return words[len(words)-1]
}

// Function returns the name of a function without its family: relu for Functional.relu; empty for a
// module.
func (n Name) Function() string {
	if IsModule(n.Callee) {
		return ""
	}
	_, function, _ := strings.Cut(n.Callee, ".")
	function, _, _ = strings.Cut(function, ".")
	return function
}

func isNumber(word string) bool {
	_, err := strconv.ParseUint(word, 10, 32)
	return err == nil
}
