export const Waiting = () => <p class="waiting" role="status">Loading</p>;

export const Failure = ({ text }: { text: string }) => <p class="failure" role="alert">{text}</p>;
