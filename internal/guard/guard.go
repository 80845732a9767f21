// Package guard converts panics to errors, so that one damaged file does not stop the work on all others. It also
// starts goroutines, since an unguarded panic in a goroutine ends the program even if its caller is guarded.
package guard

import (
	"errors"
	"fmt"
	"runtime/debug"
	"sync/atomic"

	"dumptool/internal/lang"
)

// Panic is the error of work that panicked.
type Panic struct {
	// Value is the value of the panic.
	Value any
	// Stack is the stack of the goroutine that panicked.
	Stack []byte
}

// Error says that dumptool, not the file, is at fault.
func (p *Panic) Error() string { return p.Text().String() }

// Text returns the error in both languages.
func (p *Panic) Text() lang.Text {
	return lang.Say("dumptool has a bug here: %v (--verbose shows where)", p.Value).Text()
}

// Trace returns the value of the panic and the stack.
func (p *Panic) Trace() string { return fmt.Sprintf("panic: %v\n%s", p.Value, p.Stack) }

// Unwrap returns the value of the panic if it is an error.
func (p *Panic) Unwrap() error {
	err, _ := p.Value.(error)
	return err
}

// observer is called for every panic.
var observer atomic.Pointer[func(*Panic)]

// Observe sets a function to call for every panic, in the panicking goroutine.
func Observe(tell func(*Panic)) { observer.Store(&tell) }

// Do calls work and returns its error, or a *Panic.
func Do(work func() error) (err error) {
	defer func() {
		v := recover()
		if v == nil {
			return
		}
		p := &Panic{Value: v, Stack: debug.Stack()}
		if tell := observer.Load(); tell != nil {
			(*tell)(p)
		}
		err = p
	}()
	return work()
}

// errGoexit is the error of work that called runtime.Goexit.
var errGoexit = errors.New("runtime.Goexit called")

// Go calls work in a new goroutine, and then done with its error or a *Panic. done is called
// however work ends.
func Go(work func() error, done func(error)) {
	go func() {
		err := errGoexit
		defer func() { done(err) }()
		err = Do(work)
	}()
}
