"""From training data to trained models: fine-tuning by TRL and PEFT.

Read `train.py` first: load, prepare, train, save. `training_spec.py` has the presets, `load.py` and `tokenizer.py` what
a training starts from, `prepare.py` the tokens and labels, `trainer.py` TRL's trainer with our batches (`batches.py`)
and optimizer (`optimizer.py`). `train_process.py` runs it in a child process on a place of `gpu_places.py`, `folder.py`
holds its folder, `card.py` describes the model. `machine.py` and `resources.py` say what a training needs.

What must stay true: the seed decides the weights to the byte, and an interrupted training resumes to the same ones
(`tests/tasks/sft/test_train.py`); only what a reply generates is learned (`test_prepare.py`).
"""
