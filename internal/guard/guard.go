// Package guard makes an error of a panic, so that one damaged file does not end the
// work on all others. It starts the goroutines of readers too: a panic in one that
// nobody guards ends the program, whatever its caller does.
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
	// Value is what it panicked with.
	Value any
	// Stack is the stack of the goroutine that panicked, where the bug is.
	Stack []byte
}

// Error says that this is a mistake of the program and not of the file.
func (p *Panic) Error() string { return p.Text().EN }

// Text says that this is a mistake of the program and not of the file.
func (p *Panic) Text() lang.Text {
	return lang.Sayf("dumptool has a bug here: %v (--verbose shows where)", "此处遇到 dumptool 自身的缺陷：%v (--verbose 显示位置)", p.Value).Text()
}

// Trace is what it panicked with, and the stack.
func (p *Panic) Trace() string { return fmt.Sprintf("panic: %v\n%s", p.Value, p.Stack) }

// Unwrap returns what it panicked with when that is an error.
func (p *Panic) Unwrap() error {
	err, _ := p.Value.(error)
	return err
}

// observer is told of every panic.
var observer atomic.Pointer[func(*Panic)]

// Observe sets who is told of every panic at once, from the goroutine that panicked.
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

// errGoexit is the error of work that ended its goroutine.
var errGoexit = errors.New("runtime.Goexit called")

// Go calls work in a goroutine of its own, and then done with its error, or with a
// *Panic: whatever way work ends, whoever waits for it hears of it.
func Go(work func() error, done func(error)) {
	go func() {
		err := errGoexit
		defer func() { done(err) }()
		err = Do(work)
	}()
}
