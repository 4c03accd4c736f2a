package main

import (
	"encoding/json"
	"io"
	"os"
	"sync"
	"syscall"
	"time"
)

// patience is how much processor time a question may take. Not wall-clock time, because that says nothing on a busy
// machine; ordinary questions take some hundred microseconds.
const patience = time.Second

// answers writes whole lines, whichever goroutine writes.
type answers struct {
	mutex sync.Mutex
	out   io.Writer
}

func (a *answers) write(answer any) error {
	line, err := json.Marshal(answer)
	if err != nil {
		return err
	}
	a.mutex.Lock()
	defer a.mutex.Unlock()
	_, err = a.out.Write(append(line, '\n'))
	return err
}

// watch ends the program when a question takes too long.
type watch struct {
	mutex sync.Mutex
	// begun is the processor time at which the current question was begun; negative between questions.
	begun time.Duration
}

func startWatch(answers *answers) *watch {
	watch := &watch{begun: -1}
	go func() {
		for range time.Tick(patience / 20) {
			watch.look(answers)
		}
	}()
	return watch
}

func (w *watch) look(answers *answers) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if w.begun < 0 || processorTime()-w.begun < patience {
		return
	}
	if err := answers.write(map[string]string{"harmed": "it does not come back"}); err != nil {
		fail(1, err)
	}
	os.Exit(exitHarmed)
}

// over runs one question under the watch.
func (w *watch) over(question func() (any, error)) (any, error) {
	w.set(processorTime())
	defer w.set(-1)
	return question()
}

func (w *watch) set(begun time.Duration) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.begun = begun
}

// processorTime is what this process has used so far.
func processorTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		fail(1, err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
